//! The five transactions: their first operations, and those that depend on answers.

pub(super) mod delivery;
pub(super) mod new_order;
pub(super) mod order_status;
pub(super) mod payment;
pub(super) mod stock_level;
