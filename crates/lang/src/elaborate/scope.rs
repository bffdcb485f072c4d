//! Classes in use and what their names mean (`docs/theory/components.md`, sections 1 and 2).
//!
//! A node is a class in one use: a component, or a package or function with the modifications that reached it. Its parts are
//! the texts it consists of: the class itself and, through `extends`, its bases. Names are looked up in a part: among the
//! elements that this text and its bases declare, then among its imports, then in the text around it.

mod lookup;

use super::{Checked, Elaborator};
use crate::ast::{
    AstId, Causality, Class, ClassKind, Constraining, Declaration, Flow, Modification, Prefixes,
    Redeclared, Variability,
};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::Type;
use crate::source::Span;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PartId(pub u32);

/// The scope around all classes.
pub(super) const TOP: PartId = PartId(0);
pub(super) const TOP_NODE: NodeId = NodeId(0);

/// Bases, aliases, enclosing classes, and connectors inside each other that are followed.
pub(super) const MAX_BASES: usize = 60;

/// Levels of expressions that one level of classes counts as: measured frames are about this much larger.
pub(super) const CLASS_DEPTH: usize = 8;

/// Modifications from one place: the names in their values are looked up in `part`.
#[derive(Clone)]
pub(super) struct Layer<'a> {
    pub mods: &'a [Modification],
    pub part: PartId,
    /// Which elements of arrays of components the way has led through since this was written.
    pub subs: Rc<[usize]>,
}

/// What an element is modified with, the outermost first.
#[derive(Clone, Default)]
pub(super) struct Env<'a> {
    pub layers: Vec<Layer<'a>>,
    pub value: Option<Bound>,
    /// Of a class, what its constraining clause modifies: below the modifications that the class itself brings.
    pub constraint: Vec<Layer<'a>>,
}

/// A value given by a modification or a declaration.
#[derive(Clone)]
pub(super) enum Bound {
    Expr {
        ast: AstId,
        part: PartId,
        subs: Rc<[usize]>,
    },
    /// A field of a record that is given as a whole.
    Field(Rc<Bound>, Rc<str>),
}

#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    Component(&'a Declaration),
    Class(&'a Class),
}

/// An element of a node, with what reaches it from outside.
#[derive(Clone)]
pub(super) struct Element<'a> {
    pub what: What<'a>,
    /// Where the names of its text are looked up.
    pub part: PartId,
    /// The part that first declares it.
    pub owner: PartId,
    pub env: Rc<Env<'a>>,
    /// What it stands in the place of.
    pub inherited: Option<Rc<Element<'a>>>,
    pub is_replaced: bool,
}

#[derive(Clone, Default)]
pub(super) struct Elements<'a> {
    pub map: HashMap<&'a str, Element<'a>>,
    pub order: Vec<&'a str>,
    /// Whether declared names have dots, as flat text has them.
    pub is_flat: bool,
}

pub(super) struct Part<'a> {
    pub node: NodeId,
    pub class: Option<&'a Class>,
    pub around: Option<PartId>,
    pub bases: Vec<PartId>,
}

/// Prefixes that components hand on to what is inside them.
#[derive(Clone, Copy)]
pub(super) struct Handed {
    pub variability: Variability,
    pub causality: Causality,
    pub flow: Flow,
    pub is_protected: bool,
    pub is_final: bool,
}

impl Handed {
    pub const NONE: Handed = Handed {
        variability: Variability::Continuous,
        causality: Causality::None,
        flow: Flow::Potential,
        is_protected: false,
        is_final: false,
    };
}

pub(super) struct Node<'a> {
    pub class: Option<&'a Class>,
    pub path: Rc<str>,
    /// The component that it is part of.
    pub parent: Option<NodeId>,
    pub is_component: bool,
    pub root: PartId,
    /// Bases first.
    pub parts: Vec<PartId>,
    pub elements: Rc<Elements<'a>>,
    pub is_complete: bool,
    pub components: HashMap<&'a str, super::instance::Instance>,
    pub classes: HashMap<&'a str, NodeId>,
    pub handed: Handed,
    /// A record that is given as a whole.
    pub bound: Option<Bound>,
    /// Where the component is declared.
    pub span: Span,
}

impl Element<'_> {
    /// Whether it has a prefix, or what it stands in the place of has it, which hands it on.
    pub fn has_prefix(&self, prefix: impl Fn(&Prefixes) -> bool) -> bool {
        let chain = std::iter::successors(Some(self), |element| element.inherited.as_deref());
        chain
            .map(|element| match element.what {
                What::Component(declaration) => declaration.prefixes,
                What::Class(class) => class.prefixes,
            })
            .any(|prefixes| prefix(&prefixes))
    }
}

/// A class as found, with what reaches it from outside.
#[derive(Clone)]
pub(super) struct Handle<'a> {
    pub class: &'a Class,
    pub part: PartId,
    pub env: Rc<Env<'a>>,
    pub inherited: Option<Rc<Element<'a>>>,
}

impl<'a> Handle<'a> {
    /// What modifies the class, or the class that it is another name of; the outermost first.
    pub fn layers(&self) -> impl Iterator<Item = Layer<'a>> + '_ {
        let alias = self.class.alias.as_ref();
        let own = alias.map(|alias| plain_layer(&alias.modifications, self.part));
        let outer = self.env.layers.iter().cloned();
        outer.chain(own).chain(self.env.constraint.iter().cloned())
    }
}

/// What a type name comes down to.
#[derive(Clone)]
pub(super) enum Base<'a> {
    Number(Type),
    Enumeration(&'a [String]),
    Text,
    Object(Handle<'a>),
    Class(Handle<'a>),
}

/// A type with what its aliases add.
pub(super) struct Resolved<'a> {
    pub base: Base<'a>,
    pub layers: Vec<Layer<'a>>,
    pub dims: Vec<(AstId, PartId)>,
    pub causality: Causality,
}

pub(super) const STATE_SELECT: &[&str] = &["never", "avoid", "default", "prefer", "always"];
pub(super) const ASSERTION_LEVEL: &[&str] = &["warning", "error"];

fn built_in(name: &str) -> Option<Type> {
    Some(match name {
        "Real" => Type::Real,
        "Integer" => Type::Integer,
        "Boolean" => Type::Boolean,
        _ => return None,
    })
}

/// What layers say of one element.
struct Filtered<'a> {
    layers: Vec<Layer<'a>>,
    value: Option<Bound>,
    redeclared: Option<Replacement<'a>>,
}

struct Replacement<'a> {
    by: &'a Redeclared,
    part: PartId,
    subs: Rc<[usize]>,
    /// How many of the layers come from farther outside.
    outer: usize,
}

fn filter<'a>(layers: &[Layer<'a>], name: &str) -> Filtered<'a> {
    let mut found = Filtered {
        layers: Vec::new(),
        value: None,
        redeclared: None,
    };
    for layer in layers {
        for item in layer.mods.iter().filter(|item| item.name == name) {
            let subs: Rc<[usize]> = match item.is_each {
                true => Rc::from([]),
                false => layer.subs.clone(),
            };
            if let Some(by) = &item.redeclared {
                if found.redeclared.is_none() {
                    found.redeclared = Some(Replacement {
                        by,
                        part: layer.part,
                        subs,
                        outer: found.layers.len(),
                    });
                }
                continue;
            }
            if let (Some(ast), None) = (item.value, &found.value) {
                found.value = Some(Bound::Expr {
                    ast,
                    part: layer.part,
                    subs: subs.clone(),
                });
            }
            if !item.nested.is_empty() {
                found.layers.push(Layer {
                    mods: &item.nested,
                    part: layer.part,
                    subs,
                });
            }
        }
    }
    found
}

fn constraint_layer<'a>(constraint: &'a Constraining, part: PartId) -> Option<Layer<'a>> {
    (!constraint.modifications.is_empty()).then(|| plain_layer(&constraint.modifications, part))
}

pub(super) fn plain_layer(mods: &[Modification], part: PartId) -> Layer<'_> {
    Layer {
        mods,
        part,
        subs: Rc::from([]),
    }
}

/// The modifications that a replaceable class hands on to whatever stands in its place: those of its constraining clause or,
/// without one, those of its short definition.
fn class_constraint<'a>(class: &'a Class, part: PartId) -> Option<Layer<'a>> {
    match (&class.constraint, &class.alias) {
        (Some(constraint), _) => constraint_layer(constraint, part),
        (None, Some(alias)) if class.prefixes.is_replaceable => {
            (!alias.modifications.is_empty()).then(|| plain_layer(&alias.modifications, part))
        }
        _ => None,
    }
}

impl<'a> Elaborator<'a> {
    pub(super) fn part(&self, id: PartId) -> &Part<'a> {
        &self.parts[id.0 as usize]
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node<'a> {
        &mut self.nodes[id.0 as usize]
    }

    fn new_part(
        &mut self,
        node: NodeId,
        class: Option<&'a Class>,
        around: Option<PartId>,
    ) -> PartId {
        self.parts.push(Part {
            node,
            class,
            around,
            bases: Vec::new(),
        });
        PartId((self.parts.len() - 1) as u32)
    }

    /// The scope around all texts.
    pub(super) fn new_top(&mut self) {
        let root = self.new_part(TOP_NODE, None, None);
        let mut elements = Elements::default();
        let ast = self.ast;
        let all = ast.ast(0).all_classes();
        self.has_dotted_classes = all.iter().any(|class| class.name.contains('.'));
        for class in &ast.ast(0).classes {
            elements.map.insert(&class.name, class_element(class, root));
        }
        self.nodes.push(Node {
            class: None,
            path: "".into(),
            parent: None,
            is_component: false,
            root,
            parts: vec![root],
            elements: Rc::new(elements),
            is_complete: true,
            components: HashMap::new(),
            classes: HashMap::new(),
            handed: Handed::NONE,
            bound: None,
            span: Span::default(),
        });
    }

    /// A class in one use.
    pub(super) fn new_node(
        &mut self,
        handle: &Handle<'a>,
        layers: Vec<Layer<'a>>,
        path: Rc<str>,
        parent: Option<NodeId>,
        is_component: bool,
        span: Span,
    ) -> Checked<NodeId> {
        self.step(1, span)?;
        let id = NodeId(self.nodes.len() as u32);
        let root = self.new_part(id, Some(handle.class), Some(handle.part));
        self.nodes.push(Node {
            class: Some(handle.class),
            path,
            parent,
            is_component,
            root,
            parts: Vec::new(),
            elements: Rc::default(),
            is_complete: false,
            components: HashMap::new(),
            classes: HashMap::new(),
            handed: Handed::NONE,
            bound: None,
            span,
        });
        let mut elements = Elements::default();
        let mut parts = Vec::new();
        let inherited = handle.inherited.clone();
        self.collect(root, &layers, inherited, &mut elements, &mut parts, 0)?;
        if is_component {
            self.check_modifications(handle.class, &layers, &elements)?;
        }
        let node = self.node_mut(id);
        node.elements = Rc::new(elements);
        node.parts = parts;
        node.is_complete = true;
        Ok(id)
    }

    /// Gathers the elements of a text and its bases, with the modifications that reach them.
    fn collect(
        &mut self,
        part: PartId,
        layers: &[Layer<'a>],
        inherited: Option<Rc<Element<'a>>>,
        elements: &mut Elements<'a>,
        parts: &mut Vec<PartId>,
        depth: usize,
    ) -> Checked<()> {
        let Some(class) = self.part(part).class else {
            return Ok(());
        };
        self.step(class.declarations.len() as u64 + 1, class.name_span)?;
        if depth > MAX_BASES {
            return Err(self.error(
                Diagnostic::error(
                    Code::CyclicExtends,
                    class.name_span,
                    format!("`{}` extends itself", class.name),
                )
                .label("the circle goes through this class")
                .help("remove one `extends` of the circle"),
            ));
        }
        for inside in &class.classes {
            if inside.extends_itself.is_none() && !inside.prefixes.is_redeclare {
                self.add_class(inside, part, layers, elements);
            }
        }
        if let Some(mods) = &class.extends_itself {
            let Some(base) = inherited.as_deref().and_then(handle_of) else {
                return Err(self.error(
                    Diagnostic::error(
                        Code::UnknownType,
                        class.name_span,
                        format!("there is no inherited class `{}` to extend", class.name),
                    )
                    .label("`extends` names a class that is inherited")
                    .help("check the name, or leave out `extends`"),
                ));
            };
            let mut all = layers.to_vec();
            all.push(plain_layer(mods, part));
            self.collect_base(part, base, all, elements, parts, depth, class.name_span)?;
        }
        let mut next = class.extends.iter().peekable();
        for position in 0..=class.declarations.len() {
            while let Some(extends) = next.next_if(|extends| extends.position <= position) {
                let Some(base) = self.find_base(part, &extends.base) else {
                    let is_simple = built_in(&extends.base).is_some();
                    if is_simple || matches!(extends.base.as_str(), "ExternalObject" | "String") {
                        continue;
                    }
                    return Err(self.unknown_class(&extends.base, extends.base_span, part));
                };
                let mut all = layers.to_vec();
                all.push(plain_layer(&extends.modifications, part));
                self.collect_base(part, base, all, elements, parts, depth, extends.base_span)?;
            }
            if let Some(declaration) = class.declarations.get(position) {
                self.add_component(declaration, part, layers, elements);
            }
        }
        for inside in &class.classes {
            if inside.extends_itself.is_some() || inside.prefixes.is_redeclare {
                self.add_class(inside, part, layers, elements);
            }
        }
        parts.push(part);
        Ok(())
    }

    /// One base, through its aliases.
    #[expect(
        clippy::too_many_arguments,
        reason = "the state of one walk through a class and its bases"
    )]
    fn collect_base(
        &mut self,
        part: PartId,
        base: Handle<'a>,
        mut layers: Vec<Layer<'a>>,
        elements: &mut Elements<'a>,
        parts: &mut Vec<PartId>,
        depth: usize,
        span: Span,
    ) -> Checked<()> {
        let mut base = base;
        for _ in 0..MAX_BASES {
            layers.extend(base.layers());
            let Some(alias) = &base.class.alias else {
                break;
            };
            match self.find_class(base.part, &alias.base) {
                Some(next) => base = next,
                None if built_in(&alias.base).is_some() => return Ok(()),
                None => return Err(self.unknown_class(&alias.base, alias.base_span, base.part)),
            }
        }
        // The broken elements of an `extends` with `break` are left out at the end.
        let broken: Vec<&'a str> = layers
            .iter()
            .flat_map(|layer| layer.mods)
            .filter_map(|item| item.name.strip_prefix("break "))
            .collect();
        let node = self.part(part).node;
        let below = self.new_part(node, Some(base.class), Some(base.part));
        self.parts[part.0 as usize].bases.push(below);
        if base.class.kind == ClassKind::Model && base.class.alias.is_some() {
            return Err(self.unknown_class(&base.class.name, span, part));
        }
        self.collect(below, &layers, base.inherited, elements, parts, depth + 1)?;
        for name in broken {
            elements.map.remove(name);
            elements.order.retain(|other| *other != name);
        }
        Ok(())
    }

    fn add_class(
        &mut self,
        class: &'a Class,
        part: PartId,
        layers: &[Layer<'a>],
        elements: &mut Elements<'a>,
    ) {
        let found = filter(layers, &class.name);
        let mut element = class_element(class, part);
        let mut env = Env {
            layers: found.layers,
            value: None,
            constraint: class_constraint(class, part).into_iter().collect(),
        };
        if let Some(replacement) = found.redeclared
            && let Redeclared::Class(by) = replacement.by
        {
            // What was modified farther inside was so of the class that is replaced.
            let inner = env.layers.split_off(replacement.outer);
            let own = class_constraint(by, replacement.part);
            env.constraint.splice(0..0, own.into_iter().chain(inner));
            element.inherited = Some(Rc::new(element.clone()));
            element.what = What::Class(by);
            element.part = replacement.part;
            element.is_replaced = true;
        }
        if let Some(known) = elements.map.get(class.name.as_str()) {
            element.owner = known.owner;
            if class.extends_itself.is_some() || class.prefixes.is_redeclare {
                env.constraint.extend(known.env.constraint.iter().cloned());
                element.inherited = Some(Rc::new(known.clone()));
            }
        }
        element.env = Rc::new(env);
        elements.map.insert(&class.name, element);
    }

    fn add_component(
        &mut self,
        declaration: &'a Declaration,
        part: PartId,
        layers: &[Layer<'a>],
        elements: &mut Elements<'a>,
    ) {
        let name = declaration.name.as_str();
        let found = filter(layers, name);
        let mut element = Element {
            what: What::Component(declaration),
            part,
            owner: part,
            env: Rc::default(),
            inherited: None,
            is_replaced: false,
        };
        let mut env = Env {
            layers: found.layers,
            value: found.value,
            constraint: Vec::new(),
        };
        if let Some(replacement) = found.redeclared
            && let Redeclared::Component(by) = replacement.by
        {
            let own = Layer {
                mods: &by.modifications,
                part: replacement.part,
                subs: replacement.subs.clone(),
            };
            env.layers.insert(replacement.outer, own);
            if let (Some(ast), None) = (by.binding, &env.value) {
                env.value = Some(Bound::Expr {
                    ast,
                    part: replacement.part,
                    subs: replacement.subs,
                });
            }
            match &declaration.constraint {
                Some(constraint) => env.layers.extend(constraint_layer(constraint, part)),
                // Without a constraining clause its modifications and its value are those of what replaces it, too.
                None => {
                    env.layers
                        .push(plain_layer(&declaration.modifications, part));
                    if let (Some(ast), None) = (declaration.binding, &env.value) {
                        env.value = Some(Bound::Expr {
                            ast,
                            part,
                            subs: Rc::from([]),
                        });
                    }
                }
            }
            element.what = What::Component(by);
            element.part = replacement.part;
            element.inherited = Some(Rc::new(Element {
                what: What::Component(declaration),
                part,
                owner: part,
                env: Rc::default(),
                inherited: None,
                is_replaced: false,
            }));
            element.is_replaced = true;
        } else {
            env.layers
                .push(plain_layer(&declaration.modifications, part));
            if let Some(constraint) = &declaration.constraint {
                env.layers.extend(constraint_layer(constraint, part));
            }
        }
        let known = elements.map.get(name);
        if let Some(known) = known
            && (declaration.prefixes.is_redeclare || known.owner != part)
        {
            // What is declared again keeps the modifications of what it replaces, below its own.
            env.layers.extend(known.env.layers.iter().cloned());
            element.owner = known.owner;
            if env.value.is_none() && declaration.binding.is_none() {
                env.value = known.env.value.clone();
            }
            if declaration.prefixes.is_redeclare && element.inherited.is_none() {
                element.inherited = Some(Rc::new(known.clone()));
            }
        }
        element.env = Rc::new(env);
        match known {
            // Twice in one text: the first one counts, and the second is reported with the declarations.
            Some(known) if known.owner == part && !declaration.prefixes.is_redeclare => {}
            Some(_) => {
                elements.map.insert(name, element);
            }
            None => {
                elements.is_flat |= name.contains(['.', '[']);
                elements.order.push(name);
                elements.map.insert(name, element);
            }
        }
    }

    /// Modifications name elements of the class.
    fn check_modifications(
        &mut self,
        class: &'a Class,
        layers: &[Layer<'a>],
        elements: &Elements<'a>,
    ) -> Checked<()> {
        for item in layers.iter().flat_map(|layer| layer.mods) {
            let name = item.name.as_str();
            if elements.map.contains_key(name) || name.starts_with("break ") {
                continue;
            }
            let known = elements.map.keys().copied();
            let help = match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let names: Vec<&str> = elements.order.iter().copied().take(8).collect();
                    match names.is_empty() {
                        true => "remove it".to_string(),
                        false => format!("it has {}", names.join(", ")),
                    }
                }
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::UnknownAttribute,
                    item.span,
                    format!("`{}` has no element `{name}`", class.name),
                )
                .label("modified here")
                .related(class.name_span, "the class")
                .help(help),
            ));
        }
        Ok(())
    }
}

pub(super) fn class_element(class: &Class, part: PartId) -> Element<'_> {
    Element {
        what: What::Class(class),
        part,
        owner: part,
        env: Rc::default(),
        inherited: None,
        is_replaced: false,
    }
}

/// The class that an element is.
pub(super) fn handle_of<'a>(element: &Element<'a>) -> Option<Handle<'a>> {
    match element.what {
        What::Class(class) => Some(Handle {
            class,
            part: element.part,
            env: element.env.clone(),
            inherited: element.inherited.clone(),
        }),
        What::Component(_) => None,
    }
}

pub(super) fn name_of(declaration: &Declaration) -> &str {
    &declaration.name
}
