//! Values and names of the header fields that repeat parts of the body. `http::param_headers`
//! documents them.

mod params;
mod value;

pub use params::{
    HeaderName, HeaderParam, HeaderParams, MAX_HEADER_NAME, MAX_PARAMS, MAX_SCHEMA_DEPTH,
    check_schema, header_params,
};
pub use value::{FieldValue, InvalidFieldValue};
