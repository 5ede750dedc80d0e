//! Finds the mutants of one source file.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprLit, Item, Lit, Pat, ReturnType, Stmt, Type, UnOp};

use crate::cfg::Build;

/// A change of the source that the tests should detect.
pub struct Mutant {
    pub path: String,
    /// Line and column of the changed code, from 1.
    pub at: (usize, usize),
    /// The line, without leading and trailing whitespace.
    pub line: String,
    /// Description of the change: `replace < with <=`.
    pub what: String,
    /// The function around it.
    pub function: String,
    /// The replacement.
    pub instead: String,
    /// Whether the function is a `const fn`.
    pub in_const_fn: bool,
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {} in {}", self.path, self.at.0, self.at.1, self.what, self.function)
    }
}

/// A place in the source where mutants are switched, and which of the file's they are.
pub struct Site {
    pub range: Range<usize>,
    pub form: Form,
    pub mutants: Range<usize>,
}

/// How a mutant is woven into the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// An expression that is replaced by another one.
    Either,
    /// A field of a struct expression without a name of its own: `Field { name, .. }`.
    Shorthand,
    /// A condition that is negated.
    Negate,
    /// The guard of a match arm, replaced by true or false.
    Guard,
    /// The end of the pattern of an arm without a guard; the arm is removed.
    Arm,
    /// A statement that is removed.
    Skip,
    /// The start of a function's body; the function returns at once.
    Return,
}

pub struct Finder<'s> {
    path: &'s str,
    source: &'s str,
    lines: Vec<&'s str>,
    build: Build,
    /// Nesting depth of constants (`const` items, array lengths and the like), which cannot be
    /// switched at run time.
    in_constant: usize,
    in_const_fn: bool,
    functions: Vec<String>,
    pub sites: Vec<Site>,
    pub mutants: Vec<Mutant>,
    /// Number of mutants in constants.
    pub constants: usize,
    /// Modules in files of their own that the build does not contain.
    pub absent: Vec<String>,
}

pub fn find<'s>(path: &'s str, source: &'s str, build: Build) -> syn::Result<Finder<'s>> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder {
        path,
        source,
        lines: source.lines().collect(),
        build,
        in_constant: 0,
        in_const_fn: false,
        functions: Vec::new(),
        sites: Vec::new(),
        mutants: Vec::new(),
        constants: 0,
        absent: Vec::new(),
    };
    finder.visit_file(&file);
    Ok(finder)
}

/// Returns whether this only takes memory before it is needed, which is a matter of speed.
fn is_with_capacity(call: &syn::ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else { return false };
    path.path.segments.last().is_some_and(|name| name.ident == "with_capacity")
}

/// Returns the same of a method.
fn is_reserve(call: &syn::ExprMethodCall) -> bool {
    call.method == "reserve" || call.method == "reserve_exact"
}

fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            has_let(&binary.left) || has_let(&binary.right)
        }
        _ => false,
    }
}

/// Returns the replacements of this operator.
fn others(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        // Mostly bits that do not overlap, for which `^` is the same.
        BinOp::BitOr(_) => &["&"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        _ => &[],
    }
}

/// Returns whether a statement is `let _ = (name, ..);`.
fn is_unused(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Local(local) if matches!(local.pat, Pat::Wild(_))
        && local.init.as_ref().is_some_and(|it| matches!(*it.expr, Expr::Path(_) | Expr::Tuple(_))))
}

fn is_unit(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// Returns values of this type that need no arguments. Those that do not compile are removed later.
fn values(ty: &Type) -> Vec<String> {
    let default = vec!["Default::default()".to_owned()];
    match ty {
        Type::Tuple(tuple) => {
            let each: Vec<_> = tuple.elems.iter().map(values).collect();
            let count = each.iter().map(Vec::len).max().unwrap_or(1);
            if each.iter().any(Vec::is_empty) {
                return Vec::new();
            }
            (0..count)
                .map(|n| {
                    let parts: Vec<_> = each
                        .iter()
                        .map(|values| values[n.min(values.len() - 1)].as_str())
                        .collect();
                    format!("({})", parts.join(", "))
                })
                .collect()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => {
                vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()]
            }
            Type::Slice(_) if reference.mutability.is_none() => vec!["&[]".to_owned()],
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let last = path.path.segments.last().expect("a path has a segment");
            let inner = match &last.arguments {
                syn::PathArguments::AngleBracketed(arguments) => {
                    arguments.args.iter().find_map(|argument| match argument {
                        syn::GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })
                }
                _ => None,
            };
            match (last.ident.to_string().as_str(), inner) {
                ("bool", _) => vec!["true".to_owned(), "false".to_owned()],
                ("u8" | "u16" | "u32" | "u64" | "usize", _) => vec!["0".to_owned(), "1".to_owned()],
                ("i8" | "i16" | "i32" | "i64" | "isize", _) => {
                    vec!["0".to_owned(), "1".to_owned(), "-1".to_owned()]
                }
                ("Option", Some(inner)) => std::iter::once("None".to_owned())
                    .chain(values(inner).iter().map(|value| format!("Some({value})")))
                    .collect(),
                ("Result", Some(inner)) => {
                    values(inner).iter().map(|value| format!("Ok({value})")).collect()
                }
                ("Ordering", _) => vec!["core::cmp::Ordering::Equal".to_owned()],
                _ => default,
            }
        }
        Type::Never(_) | Type::ImplTrait(_) | Type::BareFn(_) | Type::Ptr(_) => Vec::new(),
        _ => default,
    }
}

impl Finder<'_> {
    /// Returns whether nothing after this statement is ever executed in this build.
    fn returns(&self, statement: &Stmt) -> bool {
        let Stmt::Expr(Expr::If(condition), _) = statement else { return false };
        self.build.decides(&condition.cond) == Some(true)
            && matches!(condition.then_branch.stmts.last(), Some(Stmt::Expr(Expr::Return(_), _)))
    }

    fn text(&self, range: Range<usize>) -> &str {
        &self.source[range]
    }

    fn short(&self, range: Range<usize>) -> String {
        self.text(range).split_whitespace().collect::<Vec<_>>().join(" ").chars().take(70).collect()
    }

    fn mutant(&self, at: Span, what: String, instead: String) -> Mutant {
        let start = at.start();
        Mutant {
            path: self.path.to_owned(),
            at: (start.line, start.column + 1),
            line: self.lines[start.line - 1].trim().to_owned(),
            what,
            function: self.functions.join("::"),
            instead,
            in_const_fn: self.in_const_fn,
        }
    }

    fn site(&mut self, range: Range<usize>, form: Form, mutants: Vec<Mutant>) {
        if self.in_constant > 0 {
            self.constants += mutants.len();
        } else if !mutants.is_empty() {
            let first = self.mutants.len();
            self.mutants.extend(mutants);
            self.sites.push(Site { range, form, mutants: first..self.mutants.len() });
        }
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.in_constant += 1;
        visit(self);
        self.in_constant -= 1;
    }

    fn function(
        &mut self,
        signature: &syn::Signature,
        block: &syn::Block,
        visit: impl FnOnce(&mut Self),
    ) {
        self.functions.push(signature.ident.to_string());
        // A function inside a constant is not a constant itself.
        let outer = (
            std::mem::take(&mut self.in_constant),
            std::mem::replace(&mut self.in_const_fn, signature.constness.is_some()),
        );
        if !block.stmts.is_empty() && signature.ident != "default" {
            let values = match &signature.output {
                ReturnType::Default => vec!["()".to_owned()],
                ReturnType::Type(_, ty) if is_unit(ty) => vec!["()".to_owned()],
                ReturnType::Type(_, ty) => values(ty),
            };
            let at = block.brace_token.span.open().byte_range().end;
            let body = self.short(block.brace_token.span.join().byte_range());
            let mutants = values
                .into_iter()
                .filter(|value| body != format!("{{ {value} }}"))
                // Such a default method only names its arguments.
                .filter(|value| value != "()" || !block.stmts.iter().all(is_unused))
                .map(|value| {
                    self.mutant(
                        block.stmts[0].span(),
                        format!("replace the body with {value}"),
                        value,
                    )
                })
                .collect();
            self.site(at..at, Form::Return, mutants);
        }
        visit(self);
        (self.in_constant, self.in_const_fn) = outer;
        self.functions.pop();
    }

    fn operator(&mut self, binary: &syn::ExprBinary) {
        if matches!(binary.op, BinOp::And(_)) && (has_let(&binary.left) || has_let(&binary.right)) {
            return;
        }
        let op = binary.op.span();
        let (whole, at) = (binary.span().byte_range(), op.byte_range());
        let written = self.text(at.clone()).to_owned();
        let mutants = others(&binary.op)
            .iter()
            .map(|other| {
                let instead = format!(
                    "{}{other}{}",
                    &self.source[whole.start..at.start],
                    &self.source[at.end..whole.end]
                );
                self.mutant(op, format!("replace {written} with {other}"), instead)
            })
            .collect();
        self.site(whole, Form::Either, mutants);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if self.build.has(&item.attrs) {
            visit::visit_item_mod(self, item);
        } else if item.content.is_none() {
            self.absent.push(item.ident.to_string());
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if self.build.has(&item.attrs) {
            self.function(&item.sig, &item.block, |this| visit::visit_item_fn(this, item));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if self.build.has(&item.attrs) {
            self.function(&item.sig, &item.block, |this| visit::visit_impl_item_fn(this, item));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        match &item.default {
            Some(block) if self.build.has(&item.attrs) => {
                self.function(&item.sig, block, |this| visit::visit_trait_item_fn(this, item));
            }
            _ => {}
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !self.build.has(&item.attrs) {
            return;
        }
        let of = self.short(item.self_ty.span().byte_range());
        self.functions.push(of.split('<').next().unwrap_or(&of).to_owned());
        visit::visit_item_impl(self, item);
        self.functions.pop();
    }

    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(_) | Item::Static(_) | Item::Enum(_) => {
                self.constant(|this| visit::visit_item(this, item));
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.constant(|this| visit::visit_impl_item_const(this, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.constant(|this| visit::visit_trait_item_const(this, item));
    }

    fn visit_type(&mut self, ty: &'ast Type) {
        self.constant(|this| visit::visit_type(this, ty));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.constant(|this| visit::visit_generic_argument(this, argument));
    }

    fn visit_generics(&mut self, generics: &'ast syn::Generics) {
        self.constant(|this| visit::visit_generics(this, generics));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.constant(|this| visit::visit_expr_const(this, block));
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        for statement in &block.stmts {
            self.visit_stmt(statement);
            if self.returns(statement) {
                break;
            }
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if self.build.has(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if self.build.has(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if !is_with_capacity(call) {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if is_reserve(call) {
            self.visit_expr(&call.receiver);
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if !self.build.has_text(self.text(statement.span().byte_range())) {
            return;
        }
        if let Stmt::Expr(expression, Some(_)) = statement {
            let range = statement.span().byte_range();
            let text = self.short(range.clone());
            let kind = match expression {
                Expr::Assign(_) => "assignment",
                Expr::Binary(_) => "assignment",
                Expr::MethodCall(call) if is_reserve(call) => "",
                Expr::Call(_) | Expr::MethodCall(_) => "call",
                Expr::Try(_) => "call?",
                _ => "",
            };
            if !kind.is_empty() {
                let mutant =
                    self.mutant(statement.span(), format!("delete {kind} `{text}`"), String::new());
                self.site(range, Form::Skip, vec![mutant]);
            }
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        // Builds that differ in it do the same in another way.
        if let Some(holds) = self.build.decides(&expression.cond) {
            match &expression.else_branch {
                _ if holds => self.visit_block(&expression.then_branch),
                Some((_, other)) => self.visit_expr(other),
                None => {}
            }
            return;
        }
        if !has_let(&expression.cond) {
            let range = expression.cond.span().byte_range();
            let text = self.short(range.clone());
            let mutant = self.mutant(
                expression.cond.span(),
                format!("negate condition `{text}`"),
                String::new(),
            );
            self.site(range, Form::Negate, vec![mutant]);
        }
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let has_other = expression
            .arms
            .iter()
            .any(|arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_)));
        let build = self.build;
        for arm in expression.arms.iter().filter(|arm| build.has(&arm.attrs)) {
            let text = self.short(arm.pat.span().byte_range());
            if let Some((_, guard)) = &arm.guard {
                if !has_let(guard) {
                    let range = guard.span().byte_range();
                    let guard_text = self.short(range.clone());
                    let mutants = ["true", "false"]
                        .map(|value| {
                            self.mutant(
                                guard.span(),
                                format!("replace match guard {guard_text} with {value}"),
                                value.to_owned(),
                            )
                        })
                        .into();
                    self.site(range, Form::Guard, mutants);
                }
            } else if has_other && !matches!(arm.pat, Pat::Wild(_)) {
                let end = arm.pat.span().byte_range().end;
                let mutant =
                    self.mutant(arm.pat.span(), format!("delete match arm {text}"), String::new());
                self.site(end..end, Form::Arm, vec![mutant]);
            }
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        if let Some(rest) = &expression.rest {
            let rest = self.text(rest.span().byte_range()).to_owned();
            for field in &expression.fields {
                let syn::Member::Named(name) = &field.member else { continue };
                if !self.build.has(&field.attrs) {
                    continue;
                }
                let form = if field.colon_token.is_some() { Form::Either } else { Form::Shorthand };
                let mutant = self.mutant(
                    field.span(),
                    format!("delete field {name} from struct"),
                    format!("({rest}).{name}"),
                );
                self.site(field.expr.span().byte_range(), form, vec![mutant]);
            }
        }
        visit::visit_expr_struct(self, expression);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        self.operator(expression);
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        if let UnOp::Not(_) | UnOp::Neg(_) = expression.op {
            let op = expression.op.span();
            let what = format!("delete {}", self.text(op.byte_range()));
            let instead = self.text(expression.expr.span().byte_range()).to_owned();
            let mutant = self.mutant(op, what, instead);
            self.site(expression.span().byte_range(), Form::Either, vec![mutant]);
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        // A literal is what a buffer holds before it is written.
        if !matches!(*expression.expr, Expr::Lit(_)) {
            self.visit_expr(&expression.expr);
        }
        self.constant(|this| this.visit_expr(&expression.len));
    }

    fn visit_expr_lit(&mut self, expression: &'ast ExprLit) {
        if let Lit::Int(literal) = &expression.lit
            && let Ok(value) = literal.base10_parse::<u128>()
        {
            let text = self.text(literal.span().byte_range()).to_owned();
            let instead = format!("{}{}", value + 1, literal.suffix());
            let mutant = self.mutant(literal.span(), format!("{text} + 1"), instead);
            self.site(literal.span().byte_range(), Form::Either, vec![mutant]);
        }
    }
}
