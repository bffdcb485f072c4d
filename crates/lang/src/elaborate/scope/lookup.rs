//! Looking names up: in a text, its bases, its imports, the texts around it; classes and types behind them.

use super::{
    Base, CLASS_DEPTH, Element, Elements, Env, Handle, Layer, MAX_BASES, NodeId, Part, PartId,
    Resolved, TOP, What, built_in, class_element, handle_of, name_of, plain_layer,
};
use crate::ast::{Causality, Class, ClassKind};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::elaborate::{Checked, Elaborator, Reported};
use crate::model::Type;
use crate::source::Span;
use std::rc::Rc;

/// The library that comes with daelight.
const OWN_LIBRARY: &str = "Parts";

/// The words of a name, each with its capital letter: `SineVoltage` has two.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = (name.char_indices())
        .filter(|(_, letter)| letter.is_ascii_uppercase())
        .map(|(at, _)| at)
        .collect();
    starts.push(name.len());
    (0..starts.len().saturating_sub(1)).map(move |at| &name[starts[at]..starts[at + 1]])
}

impl<'a> Elaborator<'a> {
    /// An element of a node by name.
    pub(in crate::elaborate) fn element(&self, node: NodeId, name: &str) -> Option<Element<'a>> {
        let node = self.node(node);
        if let Some(element) = node.elements.map.get(name) {
            return Some(element.clone());
        }
        let ast = self.ast;
        let class = match node.class {
            None => ast.top(name),
            Some(class) => {
                // A class that is being put together knows what stands in its text.
                let mut own = class.classes.iter().filter(|_| !node.is_complete);
                let own = own.find(|inside| inside.name == name);
                own.or_else(|| ast.child(class, name))
            }
        };
        class.map(|class| class_element(class, node.root))
    }

    /// Whether a text or one of its bases declares a name that another base declares too.
    pub(super) fn declares(&self, part: PartId, name: &str) -> bool {
        let Part { class, bases, .. } = self.part(part);
        let own = class.is_some_and(|class| {
            class.declarations.iter().any(|other| other.name == name)
                || class.classes.iter().any(|other| other.name == name)
        });
        own || bases.iter().any(|&base| self.declares(base, name))
    }

    pub(super) fn is_base(&self, part: PartId, other: PartId) -> bool {
        part == other
            || self
                .part(part)
                .bases
                .iter()
                .any(|&base| self.is_base(base, other))
    }

    /// What a text and its bases declare under a name.
    pub(super) fn declared_in(&self, part: PartId, name: &str) -> Option<(NodeId, Element<'a>)> {
        let Part { node, class, .. } = *self.part(part);
        let at = self.node(node);
        if at.is_complete {
            let element = self.element(node, name)?;
            let inside =
                part == at.root || self.is_base(part, element.owner) || self.declares(part, name);
            return inside.then_some((node, element));
        }
        // The class is being put together: only what stands in its text is known.
        let class = class?;
        let own = class.classes.iter().find(|inside| inside.name == name);
        let own = own.or_else(|| self.ast.child(class, name));
        if let Some(own) = own {
            return Some((node, class_element(own, part)));
        }
        let declaration = class.declarations.iter().find(|other| other.name == name)?;
        let mut elements = Elements::default();
        let element = Element {
            what: What::Component(declaration),
            part,
            owner: part,
            env: Rc::new(Env {
                layers: vec![plain_layer(&declaration.modifications, part)],
                ..Env::default()
            }),
            inherited: None,
            is_replaced: false,
        };
        elements.map.insert(name_of(declaration), element.clone());
        Some((node, element))
    }

    /// What a simple name stands for in a text.
    pub(in crate::elaborate) fn find(
        &mut self,
        part: PartId,
        name: &str,
    ) -> Option<(NodeId, Element<'a>)> {
        let mut at = Some(part);
        for _ in 0..200 {
            let part = at?;
            if let Some((node, element)) = self.declared_in(part, name) {
                return Some(self.referred(node, element));
            }
            if let Some(class) = self.part(part).class {
                if let Some(found) = self.imported(class, name) {
                    return Some(found);
                }
                if class.is_encapsulated {
                    return self.declared_in(TOP, name);
                }
            }
            at = self.part(part).around;
        }
        None
    }

    /// What an element stands for: an `outer` class for the nearest `inner` class of its name around the component that it is
    /// in; without one, itself. Any other element stands for itself.
    pub(in crate::elaborate) fn referred(
        &mut self,
        node: NodeId,
        element: Element<'a>,
    ) -> (NodeId, Element<'a>) {
        let What::Class(class) = element.what else {
            return (node, element);
        };
        if !element.has_prefix(|prefixes| prefixes.is_outer) {
            return (node, element);
        }
        let mut at = self.around(node);
        while let Some(around) = at {
            if let Some(found) = self.element(around, &class.name)
                && matches!(found.what, What::Class(_))
                && found.has_prefix(|prefixes| prefixes.is_inner)
            {
                return (around, found);
            }
            at = self.around(around);
        }
        if self.missing_inner_classes.insert(&class.name) {
            self.error(
                Diagnostic::warning(
                    Code::MissingInner,
                    class.name_span,
                    format!(
                        "there is no `inner` class `{}`; its own definition is taken",
                        class.name
                    ),
                )
                .label("`outer` refers to a class of a component around this one")
                .help(format!(
                    "declare an `inner` class `{}` in the model",
                    class.name
                )),
            );
        }
        (node, element)
    }

    /// The node around one: of a component, the one that it is in; of another class, that of the text around it.
    pub(in crate::elaborate) fn around(&self, node: NodeId) -> Option<NodeId> {
        let at = self.node(node);
        match at.is_component {
            true => at.parent,
            false => {
                let around = self.part(at.root).around?;
                Some(self.part(around).node)
            }
        }
    }

    pub(super) fn imported(
        &mut self,
        class: &'a Class,
        name: &str,
    ) -> Option<(NodeId, Element<'a>)> {
        let named = class
            .imports
            .iter()
            .find(|import| import.local.as_deref() == Some(name));
        if let Some(import) = named {
            return self.find_path(TOP, &import.path);
        }
        for import in class.imports.iter().filter(|import| import.local.is_none()) {
            if let Some((node, element)) = self.find_path(TOP, &import.path)
                && let What::Class(package) = element.what
                && let Some(inside) = self.class_node(node, &package.name, &element)
                && let Some(found) = self.element(inside, name)
            {
                return Some((inside, found));
            }
        }
        None
    }

    /// What a dotted name stands for; a leading dot begins at the top.
    pub(in crate::elaborate) fn find_path(
        &mut self,
        part: PartId,
        path: &str,
    ) -> Option<(NodeId, Element<'a>)> {
        let (part, path) = match path.strip_prefix('.') {
            Some(rest) => (TOP, rest),
            None => (part, path),
        };
        let Some((first, rest)) = path.split_once('.') else {
            return self.find(part, path);
        };
        // Flat text declares classes with dots in their names.
        if self.has_dotted_classes
            && let Some(found) = self.find(part, path)
        {
            return Some(found);
        }
        let mut found = self.find(part, first)?;
        for name in rest.split('.') {
            let (node, element) = found;
            let inside = match element.what {
                What::Class(class) => self.class_node(node, &class.name, &element)?,
                What::Component(declaration) => {
                    match self.instance(node, name_of(declaration)).ok()? {
                        crate::elaborate::instance::Instance::Nodes { list, .. } => {
                            *list.first()?
                        }
                        _ => return None,
                    }
                }
            };
            let element = self.element(inside, name)?;
            found = self.referred(inside, element);
        }
        Some(found)
    }

    /// A class by its name.
    pub(in crate::elaborate) fn find_class(
        &mut self,
        part: PartId,
        path: &str,
    ) -> Option<Handle<'a>> {
        let (_, element) = self.find_path(part, path)?;
        handle_of(&element)
    }

    /// A base is not looked for among what other bases bring.
    pub(super) fn find_base(&mut self, part: PartId, path: &str) -> Option<Handle<'a>> {
        let Part { class, around, .. } = *self.part(part);
        let first = path.split('.').next().unwrap_or(path);
        let own = class.is_some_and(|class| {
            class.classes.iter().any(|inside| inside.name == first)
                || class
                    .imports
                    .iter()
                    .any(|import| import.local.as_deref().is_none_or(|local| local == first))
                || self.ast.child(class, first).is_some()
        });
        let from = match own {
            true => part,
            false => around.unwrap_or(TOP),
        };
        let found = self.find_class(from, path)?;
        let itself = class.is_some_and(|class| std::ptr::eq(class, found.class));
        match itself && found.inherited.is_none() {
            // `model A … extends A` of a class around it that has the same name.
            true if own => self.find_class(around.unwrap_or(TOP), path),
            _ => Some(found),
        }
    }

    /// The node of a class that is used as a name space: a package, or the class of a function.
    pub(in crate::elaborate) fn class_node(
        &mut self,
        node: NodeId,
        name: &'a str,
        element: &Element<'a>,
    ) -> Option<NodeId> {
        if let Some(&known) = self.node(node).classes.get(name) {
            return Some(known);
        }
        let handle = handle_of(element)?;
        let around = self.node(node).path.clone();
        let path: Rc<str> = match around.is_empty() || self.node(node).is_component {
            true => name.into(),
            false => format!("{around}.{name}").into(),
        };
        self.make_class_node(&handle, path, Some((node, name)))
    }

    /// A node of a class, through its aliases.
    pub(in crate::elaborate) fn node_of(
        &mut self,
        handle: &Handle<'a>,
        path: Rc<str>,
    ) -> Option<NodeId> {
        self.make_class_node(handle, path, None)
    }

    /// A class through its aliases, with the modifications that they add.
    pub(in crate::elaborate) fn through_aliases(
        &mut self,
        handle: &Handle<'a>,
    ) -> Option<(Handle<'a>, Vec<Layer<'a>>)> {
        let mut handle = handle.clone();
        let mut layers = Vec::new();
        for _ in 0..MAX_BASES {
            layers.extend(handle.layers());
            let Some(alias) = &handle.class.alias else {
                return Some((handle, layers));
            };
            handle = self.find_class(handle.part, &alias.base)?;
        }
        None
    }

    /// The same, known under a name of another node before it is complete: its bases may be inside it.
    pub(super) fn make_class_node(
        &mut self,
        handle: &Handle<'a>,
        path: Rc<str>,
        place: Option<(NodeId, &'a str)>,
    ) -> Option<NodeId> {
        let (handle, layers) = self.through_aliases(handle)?;
        if self.depth >= crate::elaborate::MAX_DEPTH {
            return None;
        }
        let outer_depth = self.depth;
        // A class takes more of the stack than an expression.
        self.depth += CLASS_DEPTH;
        if let Some((node, name)) = place {
            let id = NodeId(self.nodes.len() as u32);
            self.node_mut(node).classes.insert(name, id);
        }
        let span = handle.class.name_span;
        let made = self.new_node(&handle, layers, path, None, false, span).ok();
        if let (None, Some((node, name))) = (made, place) {
            self.node_mut(node).classes.remove(name);
        }
        self.depth = outer_depth;
        made
    }

    /// What a type comes down to, through aliases.
    pub(in crate::elaborate) fn resolve_type(
        &mut self,
        name: &str,
        span: Span,
        part: PartId,
    ) -> Checked<Resolved<'a>> {
        let mut resolved = Resolved {
            base: Base::Text,
            layers: Vec::new(),
            dims: Vec::new(),
            causality: Causality::None,
        };
        let mut name = name.to_string();
        let mut part = part;
        let mut span = span;
        for _ in 0..MAX_BASES {
            if let Some(ty) = built_in(&name) {
                resolved.base = Base::Number(ty);
                return Ok(resolved);
            }
            if name == "String" {
                return Ok(resolved);
            }
            let Some(handle) = self.find_class(part, &name) else {
                if let Some(base) = self.unfound_base(&name, part) {
                    resolved.base = base;
                    return Ok(resolved);
                }
                return Err(self.unknown_class(&name, span, part));
            };
            resolved.layers.extend(handle.layers());
            let Some(alias) = &handle.class.alias else {
                if let [extends] = handle.class.extends.as_slice() {
                    if extends.base == "ExternalObject" {
                        resolved.base = Base::Object(handle);
                        return Ok(resolved);
                    }
                    let is_simple = built_in(&extends.base).is_some() || extends.base == "String";
                    if is_simple || handle.class.kind == ClassKind::Type {
                        resolved
                            .layers
                            .push(plain_layer(&extends.modifications, handle.part));
                        name = extends.base.clone();
                        part = handle.part;
                        span = extends.base_span;
                        continue;
                    }
                }
                resolved.base = Base::Class(handle);
                return Ok(resolved);
            };
            if let Some(literals) = &alias.literals {
                resolved.base = Base::Enumeration(literals);
                return Ok(resolved);
            }
            resolved
                .dims
                .extend(alias.dims.iter().map(|&dim| (dim, handle.part)));
            if alias.causality != Causality::None {
                resolved.causality = alias.causality;
            }
            name = alias.base.clone();
            part = handle.part;
            span = alias.base_span;
        }
        Err(self.error(
            Diagnostic::error(
                Code::CyclicExtends,
                span,
                format!("`{name}` is defined by itself"),
            )
            .label("the circle goes through this type")
            .help("name another type"),
        ))
    }

    /// Types that no text defines.
    pub(super) fn unfound_base(&self, name: &str, part: PartId) -> Option<Base<'a>> {
        // A clock is true at the instants at which it ticks.
        if name == "Clock" {
            return Some(Base::Number(Type::Boolean));
        }
        if name == "StateSelect" || name == "AssertionLevel" {
            return Some(Base::Number(Type::Integer));
        }
        // Units of the Modelica Standard Library are names for Real, if the library is not there.
        let is_unit = self.is_library_unit(name, part);
        is_unit.then_some(Base::Number(Type::Real))
    }

    /// Whether a name that is not found is one of the units of the Modelica Standard Library.
    pub(super) fn is_library_unit(&self, name: &str, part: PartId) -> bool {
        let path = self.full_path(name, part);
        ["Modelica.SIunits.", "Modelica.Units.SI.", "SI."]
            .iter()
            .any(|prefix| path.starts_with(prefix))
    }

    /// The full path of a name that may begin with an imported one.
    pub(in crate::elaborate) fn full_path(&self, name: &str, part: PartId) -> String {
        let (head, rest) = match name.split_once('.') {
            Some((head, rest)) => (head, Some(rest)),
            None => (name, None),
        };
        let mut at = Some(part);
        while let Some(part) = at {
            let Part { class, around, .. } = *self.part(part);
            let import = class.and_then(|class| {
                let mut imports = class.imports.iter();
                imports.find(|import| import.local.as_deref() == Some(head))
            });
            if let Some(import) = import {
                return match rest {
                    Some(rest) => format!("{}.{rest}", import.path),
                    None => import.path.clone(),
                };
            }
            at = around;
        }
        name.to_string()
    }

    /// Reports an `import A.B.*` around a text that brings nothing, since there is no `A.B`.
    fn unknown_import(&mut self, part: PartId) -> Option<Reported> {
        let mut at = Some(part);
        while let Some(part) = at {
            let Part { class, around, .. } = *self.part(part);
            let imports = class.map(|class| &class.imports[..]).unwrap_or_default();
            for import in imports.iter().filter(|import| import.local.is_none()) {
                if self.find_path(TOP, &import.path).is_some() {
                    continue;
                }
                let (path, span) = (&import.path, import.span);
                let first = path.split('.').next().unwrap_or(path);
                let mut packages: Vec<String> = (self.ast.packages_of(OWN_LIBRARY).into_iter())
                    .map(|(package, _)| package)
                    .collect();
                packages.push(OWN_LIBRARY.into());
                let help = match nearest(path, packages.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if self.find(TOP, first).is_some() => {
                        format!("`{first}` has no such package; check the name")
                    }
                    None => format!(
                        "give the folder that holds `{first}` with --library, or MODELICAPATH"
                    ),
                };
                return Some(
                    self.error(
                        Diagnostic::error(
                            Code::UnknownType,
                            span,
                            format!("there is no package `{path}`"),
                        )
                        .label("nothing is imported")
                        .help(help),
                    ),
                );
            }
            at = around;
        }
        None
    }

    /// What to write for a class that daelight's own library has under this name, or under names that share a word with it.
    fn among_parts(&self, name: &str) -> Option<String> {
        let packages = self.ast.packages_of(OWN_LIBRARY);
        let has = |class: &Class, name: &str| class.classes.iter().any(|own| own.name == name);
        if let Some((package, _)) = packages.iter().find(|(_, class)| has(class, name)) {
            return Some(format!(
                "write `import {package}.*;` first, or `{package}.{name}`"
            ));
        }
        let mut best: Option<(&str, Vec<&str>)> = None;
        for word in words(name) {
            for (package, class) in &packages {
                let usable = |own: &&Class| {
                    own.kind == ClassKind::Model
                        && !own.prefixes.is_partial
                        && words(&own.name).any(|other| other == word)
                };
                let like: Vec<&str> = (class.classes.iter().filter(usable))
                    .map(|own| own.name.as_str())
                    .collect();
                if like.len() > best.as_ref().map_or(0, |(_, known)| known.len()) {
                    best = Some((package, like));
                }
            }
        }
        let (package, like) = best?;
        Some(format!("{package} has {}", like.join(", ")))
    }

    /// What to write for a dotted name whose first part is known: the class or the package of it that is spelt most like it.
    fn nearest_in(&self, first: &str, name: &str) -> String {
        let packages = self.ast.packages_of(first);
        let (package, last) = name.rsplit_once('.').unwrap_or(("", name));
        let Some((_, class)) = packages.iter().find(|(known, _)| known == package) else {
            // Packages within packages are not looked at.
            let known = packages.iter().map(|(known, _)| known.as_str());
            return match nearest(package, known) {
                Some(near) => format!("did you mean a class of `{near}`?"),
                None => format!("`{first}` has no such class; check the name"),
            };
        };
        let names = || class.classes.iter().map(|own| own.name.as_str());
        match nearest(last, names()) {
            Some(near) => format!("did you mean `{package}.{near}`?"),
            None => {
                let some: Vec<&str> = names().take(8).collect();
                format!("`{package}` has {}", some.join(", "))
            }
        }
    }

    pub(in crate::elaborate) fn unknown_class(
        &mut self,
        name: &str,
        span: Span,
        part: PartId,
    ) -> Reported {
        if self.ast.is_unread(name) {
            return Reported;
        }
        let known = ["Real", "Integer", "Boolean", "String"];
        let mut names: Vec<&str> = known.to_vec();
        let mut at = Some(part);
        while let Some(part) = at {
            let Part { node, around, .. } = *self.part(part);
            let elements = &self.node(node).elements;
            let is_class = |element: &Element<'_>| matches!(element.what, What::Class(_));
            names.extend(
                elements
                    .map
                    .iter()
                    .filter(|(_, element)| is_class(element))
                    .map(|(name, _)| *name),
            );
            at = around;
        }
        let first = name
            .trim_start_matches('.')
            .split('.')
            .next()
            .unwrap_or(name);
        if let Some(reported) = self.unknown_import(part) {
            return reported;
        }
        // What other languages call the types.
        let meant = match name.to_lowercase().as_str() {
            "bool" => Some("Boolean"),
            "int" => Some("Integer"),
            "float" | "double" => Some("Real"),
            "str" => Some("String"),
            _ => None,
        };
        let near = meant.or_else(|| nearest(name, names));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if !name.contains('.')
                && let Some(found) = self.among_parts(name) =>
            {
                found
            }
            None if name.contains('.') && self.find(part, first).is_none() => {
                format!("give the folder that holds `{first}` with --library, or MODELICAPATH")
            }
            None if name.contains('.') => self.nearest_in(first, name),
            None => format!("declare it as Real, or write `type {name} = Real;`"),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownType,
                span,
                format!("`{name}` is not a known type"),
            )
            .label("not Real, Integer, Boolean, and no class of this text or a library")
            .help(help),
        )
    }
}
