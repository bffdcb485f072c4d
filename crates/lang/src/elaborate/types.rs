//! What the type of a declaration stands for, through aliases.

use super::{Checked, Elaborator, Reported};
use crate::ast::{AstId, Declaration};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::Type;
use crate::source::Span;

impl<'a> Elaborator<'a> {
    /// `Real` and the like, through aliases.
    pub(super) fn resolve_type(
        &mut self,
        declaration: &'a Declaration,
    ) -> Checked<ResolvedType<'a>> {
        let mut resolved = ResolvedType {
            ty: Type::Real,
            is_text: false,
            dims: Vec::new(),
            attributes: Vec::new(),
        };
        let mut name: &'a str = &declaration.type_name;
        let mut span = declaration.type_span;
        for _ in 0..64 {
            match name {
                "Real" => return Ok(resolved),
                "Integer" => {
                    resolved.ty = Type::Integer;
                    return Ok(resolved);
                }
                "Boolean" => {
                    resolved.ty = Type::Boolean;
                    return Ok(resolved);
                }
                "String" => {
                    resolved.is_text = true;
                    return Ok(resolved);
                }
                _ => {}
            }
            let by_path = self.types.get(self.without_package(name));
            let Some(alias) = self.types.get(name).or(by_path).copied() else {
                // Units of the Modelica Standard Library are names for Real.
                let path = self.full_path(name);
                if ["Modelica.SIunits.", "Modelica.Units.SI.", "SI."]
                    .iter()
                    .any(|prefix| path.starts_with(prefix))
                {
                    return Ok(resolved);
                }
                return Err(self.unknown_type(name, span));
            };
            resolved.dims.extend(alias.dims.iter().copied());
            resolved.attributes.extend(alias.modifications.iter());
            name = &alias.base;
            span = alias.base_span;
        }
        Err(self.unknown_type(name, span))
    }

    pub(super) fn unknown_type(&mut self, name: &str, span: Span) -> Reported {
        if self.ast.unread.contains(name) {
            return Reported;
        }
        let known = ["Real", "Integer", "Boolean", "String"];
        let help = match nearest(name, known.into_iter().chain(self.types.keys().copied())) {
            _ if self.ast.classes.iter().any(|class| class.name == name) => {
                "flatten the model first: variables are of simple types, not of other classes"
                    .into()
            }
            Some(near) => format!("did you mean `{near}`?"),
            None if name.contains('.') => "flatten the model with a Modelica tool first".into(),
            None => format!("declare it as Real, or write `type {name} = Real;`"),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownType,
                span,
                format!("`{name}` is not a known type"),
            )
            .label("not Real, Integer, Boolean or a type of this text")
            .help(help),
        )
    }
}

/// What a type name stands for, with the sizes and attributes that aliases add.
pub(super) struct ResolvedType<'a> {
    pub ty: Type,
    pub is_text: bool,
    pub dims: Vec<AstId>,
    pub attributes: Vec<&'a crate::ast::Modification>,
}

impl ResolvedType<'_> {
    /// The sizes of a declaration: its own, then those of its type.
    pub fn dims(&self, declaration: &Declaration) -> Vec<AstId> {
        declaration.dims.iter().chain(&self.dims).copied().collect()
    }

    /// The value of an attribute: the declaration's own, or that of the nearest alias.
    pub fn attribute(&self, declaration: &Declaration, name: &str) -> Option<AstId> {
        declaration
            .modifications
            .iter()
            .chain(self.attributes.iter().copied())
            .find(|modification| modification.name == name)
            .and_then(|modification| modification.value)
    }
}
