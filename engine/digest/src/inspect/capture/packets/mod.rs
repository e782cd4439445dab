//! Packets in a capture file, and TCP segments in packets.

pub mod capture_file;
pub mod ip;
pub mod link;
pub mod packet;
mod pcap;
mod pcapng;
