//! Extracts packets from capture files, and TCP segments from packets.

pub mod capture_file;
pub mod ip;
pub mod link;
pub mod packet;
mod pcap;
mod pcapng;
