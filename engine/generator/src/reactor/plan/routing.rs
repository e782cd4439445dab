//! Sessions whose operations go to the nodes of a cluster, over [lanes](super::lanes).
//!
//! A session connects to one node, learns from it which nodes serve anything, and connects to these;
//! to others when an operation needs them. One operation is under way at a time. An operation whose
//! node is not connected waits for it, which is part of its latency; if the connection fails, so does
//! the transaction, with code `lost`, and the session goes on with the next one. Each failure puts
//! the [`Router`] in doubt: the next conversation with any node asks
//! again which node serves what.

use super::lanes::{Lanes, lane_of, split};
use super::load_thread::is_final;
use super::session_slot::{Down, SHORT_LIFE_NS, START_ATTEMPTS, reconnect_wait_ns};
use super::worker::Worker;
use crate::metrics::notice::Notice;
use crate::reactor::control::Server;
use crate::reactor::load_thread::{Io, Speaker};
use crate::reactor::timers::{Cause, Timer};
use crate::reactor::turn::closing::Closing;
use crate::reactor::turn::connecting::{CONNECT_TIMEOUT_NS, Connecting, login_timed_out};
use crate::reactor::turn::sending::Sending;
use crate::transport::channel::{Channel, Stage};
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::{Reply, Router, Session as DriverSession};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::random::rng::Rng;

/// How often an operation is sent on before it fails: as often as the slot may have moved meanwhile.
const REDIRECTS_MAX: u32 = 16;

impl<'a, C: Clock, P: Poller> Worker<'a, C, P> {
    /// Node `node` of the cluster that session `index` is sent to.
    pub(crate) fn node(&self, index: usize, node: usize) -> Server<'a> {
        self.group_targets[self.slots[index].group].servers[node]
    }

    fn router(&self, index: u32) -> Option<&'a dyn Router> {
        self.group_targets[self.slots[index as usize].group].router
    }

    fn doubt(&self, index: u32) {
        if let Some(router) = self.router(index) {
            router.doubt();
        }
    }

    fn lanes(&mut self, index: u32) -> Option<&mut Lanes> {
        self.slots[index as usize].lanes.as_deref_mut()
    }

    // ---- what the event loop asks of a lane

    pub(crate) fn lane_channel(&mut self, at: u32) -> Option<(&mut Io<'a, C, P>, &mut Channel)> {
        let (index, node) = split(at)?;
        let lane = self.slots[index].lanes.as_deref_mut()?.nodes.get_mut(node)?;
        Some((&mut self.io, &mut lane.channel))
    }

    pub(crate) fn lane_speaker(&mut self, at: u32) -> Option<Speaker<'_, 'a, Self>> {
        let (index, node) = split(at)?;
        let lane = self.slots[index].lanes.as_deref_mut()?.nodes.get_mut(node)?;
        let wire = lane.wire.as_deref_mut()?;
        Some((&mut self.io, &mut lane.channel, wire))
    }

    pub(crate) fn add_lane_timer(&mut self, at: u32, at_ns: u64, cause: Cause) {
        if let Some((io, channel)) = self.lane_channel(at) {
            io.timers.add(Timer { at_ns, slot: at, era: channel.era, cause });
        }
    }

    pub(crate) fn lane_timer(&mut self, timer: Timer) {
        let at = timer.slot;
        let Some((_, channel)) = self.lane_channel(at) else { return };
        if channel.era != timer.era {
            return;
        }
        let is_up = channel.is_up();
        match timer.cause {
            Cause::ConnectTimeout if !is_up => self.connection_lost(at, login_timed_out()),
            Cause::Connect => self.pause_over(at),
            _ => {}
        }
    }

    // ---- connecting

    /// Begins to connect a session: to one node, which says what the others serve.
    pub(crate) fn open_lanes(&mut self, index: u32) {
        self.io.queue.settle();
        let slot = &mut self.slots[index as usize];
        let count = self.group_targets[slot.group].servers.len();
        let first = slot.session.number() as usize % count;
        if slot.lanes.is_none() {
            slot.lanes = Some(Box::new(Lanes::new(count, first)));
        }
        self.want(index, first);
    }

    /// Requests the connection to a node, unless there is one, or an attempt must wait.
    fn want(&mut self, index: u32, node: usize) {
        let Some(lane) = self.lanes(index).and_then(|lanes| lanes.nodes.get_mut(node)) else {
            return;
        };
        if !lane.channel.is_up() && !lane.is_opening && !lane.is_pausing {
            lane.is_opening = true;
            self.io.queue.push(lane_of(index, node));
        }
    }

    pub(crate) fn open_lane(&mut self, at: u32) -> Result<()> {
        let now_ns = self.io.clock.now_ns();
        let Some((index, node)) = split(at) else { return Ok(()) };
        let number = self.slots[index].session.number();
        let DriverSession::Wire(wire) = self.node(index, node).driver.session(number)? else {
            return Err(Error::new(Kind::Plan, "a cluster's node needs a network session"));
        };
        if let Some(lanes) = self.slots[index].lanes.as_deref_mut() {
            lanes.nodes[node].wire = Some(wire);
            lanes.nodes[node].opened_ns = now_ns;
        }
        self.open_link(at, now_ns)
    }

    pub(crate) fn lane_logged_in(&mut self, at: u32) {
        let now_ns = self.io.clock.now_ns();
        let Some((index, node)) = split(at) else { return };
        let Some(lanes) = self.slots[index].lanes.as_deref_mut() else { return };
        let lane = &mut lanes.nodes[node];
        lane.channel.output = Vec::new();
        lane.is_opening = false;
        lane.up_ns = now_ns;
        let index = index as u32;
        if !self.slots[index as usize].channel.is_up() {
            return self.connect_others(index);
        }
        if self.lanes(index).is_some_and(|lanes| lanes.waits && lanes.active == node) {
            self.send_waiting(index);
        }
    }

    /// Connects to all nodes that serve anything. Once that is done, the session is up.
    fn connect_others(&mut self, index: u32) {
        let (Some(router), Some(lanes)) = (self.router(index), self.lanes(index)) else { return };
        let used = |node: &usize| router.is_used(*node);
        let is_down = |node: &usize| !lanes.nodes[*node].channel.is_up();
        let missing: Vec<usize> = (0..lanes.nodes.len()).filter(used).filter(is_down).collect();
        if !missing.is_empty() {
            return missing.into_iter().for_each(|node| self.want(index, node));
        }
        let slot = &mut self.slots[index as usize];
        slot.channel.stage = Stage::Up;
        if !slot.is_settled {
            slot.is_settled = true;
            self.control.gates[slot.group].connected();
        }
        self.outage_over(index);
        self.begin(index);
    }

    pub(crate) fn lane_not_connected(&mut self, at: u32, error: &Error) {
        let now_ns = self.io.clock.now_ns();
        let Some((index, node)) = split(at) else { return };
        let index = index as u32;
        self.doubt(index);
        let slot = &mut self.slots[index as usize];
        let Some(lanes) = slot.lanes.as_deref_mut() else { return };
        let lane = &mut lanes.nodes[node];
        let took_long = now_ns.saturating_sub(lane.opened_ns) >= CONNECT_TIMEOUT_NS;
        lane.close();
        lane.failures += 1;
        let is_enough = lane.failures >= START_ATTEMPTS || took_long || is_final(error);
        if !slot.is_settled && is_enough {
            slot.is_settled = true;
            self.control.gates[slot.group].failed(error.clone());
        }
        self.pause(index, node, now_ns);
        if !self.slots[index as usize].channel.is_up() {
            if self.origin_ns.is_some() {
                self.mark_down(index, now_ns, &error.to_string());
            }
            return self.ask_another(index, node);
        }
        self.fail_if_under_way(index, node, error);
    }

    /// Has the next attempt to connect to a node wait, longer after each failure.
    fn pause(&mut self, index: u32, node: usize, now_ns: u64) {
        let slot = &mut self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        let seed = config.seed ^ config.group as u64;
        let random = Rng::for_transaction(seed, slot.session.number(), now_ns).u64();
        let Some(lanes) = slot.lanes.as_deref_mut() else { return };
        let lane = &mut lanes.nodes[node];
        let wait_ns = reconnect_wait_ns(lane.failures, random);
        if wait_ns > 0 {
            lane.is_pausing = true;
            self.add_lane_timer(lane_of(index, node), now_ns + wait_ns, Cause::Connect);
        }
    }

    /// A node may be tried again: for the operation that waits for it, unless another node serves it
    /// by now.
    fn pause_over(&mut self, at: u32) {
        let Some((index, node)) = split(at) else { return };
        let Some(lanes) = self.slots[index].lanes.as_deref_mut() else { return };
        lanes.nodes[node].is_pausing = false;
        let (index, is_awaited) = (index as u32, lanes.waits && lanes.active == node);
        let is_anything_known = lanes.nodes.iter().any(|lane| lane.channel.is_up());
        if !self.slots[index as usize].channel.is_up() {
            // Before the session is up: those that are needed, once any node has said which.
            if is_anything_known {
                return self.connect_others(index);
            }
            return self.want_next(index, node);
        }
        if is_awaited {
            self.route(index);
            self.send_waiting(index);
        }
    }

    /// Tries the node after one that did not answer.
    fn want_next(&mut self, index: u32, node: usize) {
        if let Some(lanes) = self.lanes(index) {
            let next = (node + 1) % lanes.nodes.len();
            self.want(index, next);
        }
    }

    pub(crate) fn lane_lost(&mut self, at: u32, error: &Error) {
        let now_ns = self.io.clock.now_ns();
        let Some((index, node)) = split(at) else { return };
        let Some(lanes) = self.slots[index].lanes.as_deref_mut() else { return };
        let lane = &mut lanes.nodes[node];
        lane.close();
        let is_short = now_ns.saturating_sub(lane.up_ns) < SHORT_LIFE_NS;
        lane.failures = if is_short { lane.failures + 1 } else { 0 };
        let index = index as u32;
        self.doubt(index);
        self.pause(index, node, now_ns);
        if self.slots[index as usize].channel.is_up() {
            self.fail_if_under_way(index, node, error);
        } else {
            self.want(index, node);
        }
    }

    /// Fails the transaction whose operation is under way to a node that was lost, and goes on.
    fn fail_if_under_way(&mut self, index: u32, node: usize, error: &Error) {
        let now_ns = self.io.clock.now_ns();
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        let is_active = slot.lanes.as_deref().is_some_and(|lanes| lanes.active == node);
        if !is_active || !slot.session.is_in_flight() {
            return;
        }
        let config = &self.group_targets[slot.group].config;
        slot.session.lost(now_ns, &error.to_string(), sinks, config);
        if self.origin_ns.is_some() && slot.down.is_none() {
            slot.down = Some(Down { since_ns: now_ns, cause: error.to_string() });
            sinks.metrics.lost.add(1);
        }
        self.go_on(index, node);
    }

    /// The operation under way to a node is given up: the session goes on with the next one.
    fn go_on(&mut self, index: u32, node: usize) {
        if let Some(lanes) = self.lanes(index) {
            lanes.waits = false;
        }
        self.ask_another(index, node);
        self.begin(index);
    }

    /// Asks a connected node who serves what, if that is in doubt. Without one, the node after
    /// `silent` says it when it is connected.
    fn ask_another(&mut self, index: u32, silent: usize) {
        let Some(lanes) = self.lanes(index) else { return };
        let Some(node) = lanes.nodes.iter().position(|lane| lane.channel.is_up()) else {
            return self.want_next(index, silent);
        };
        let lane = &mut lanes.nodes[node];
        if let Some(wire) = &mut lane.wire {
            wire.look_up(&mut lane.channel.output);
            if !lane.channel.output.is_empty() {
                self.send_output(lane_of(index, node));
            }
        }
    }

    /// The deadline of the transaction under way has passed.
    pub(crate) fn lane_expired(&mut self, index: u32) {
        self.doubt(index);
        let Some(lanes) = self.lanes(index) else { return };
        let active = lanes.active;
        if !lanes.waits {
            // The answer would come in place of the next one's.
            lanes.nodes[active].close();
        }
        self.go_on(index, active);
    }

    // ---- operations

    /// Sends the operation that the session has composed to the node that serves it.
    pub(crate) fn route_request(&mut self, index: u32) {
        self.route(index);
        let Some(lanes) = self.lanes(index) else { return };
        lanes.redirects = 0;
        lanes.asking = false;
        lanes.waits = true;
        if lanes.nodes[lanes.active].channel.is_up() {
            let sent = self.put_request(index);
            self.note_sent(index);
            self.send_request_to(index, sent);
        } else {
            self.note_sent(index);
            self.send_waiting(index);
        }
        self.watch_deadline(index);
    }

    /// Finds the node of the operation.
    fn route(&mut self, index: u32) {
        let Some(router) = self.router(index) else { return };
        let slot = &mut self.slots[index as usize];
        let (ops, transaction) = slot.session.ops();
        let node = router.node_of(&ops[0], transaction);
        if let Some(lanes) = &mut slot.lanes {
            lanes.active = node;
        }
    }

    /// Notes when the operation was sent, or would have been if its node were connected.
    fn note_sent(&mut self, index: u32) {
        self.io.now_ns = self.io.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        slot.session.sent(self.io.now_ns, &self.metrics.groups[slot.group].open);
    }

    /// Sends an operation whose time runs, once its node is connected.
    fn send_waiting(&mut self, index: u32) {
        let Some(lanes) = self.lanes(index) else { return };
        lanes.waits = true;
        let active = lanes.active;
        if lanes.nodes[active].channel.is_up() {
            let is_encoded = self.put_request(index);
            self.send_request_to(index, is_encoded);
        } else {
            self.want(index, active);
        }
    }

    /// Encodes the operation for its node; whether that is connected.
    fn put_request(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        let Some(lanes) = slot.lanes.as_deref_mut() else { return false };
        let Some(wire) = &mut lanes.nodes[lanes.active].wire else { return false };
        self.out.clear();
        wire.look_up(&mut self.out);
        if lanes.asking {
            wire.asking(&mut self.out);
        }
        let (ops, transaction) = slot.session.ops();
        wire.request(&ops[0], transaction, &mut self.out);
        true
    }

    fn send_request_to(&mut self, index: u32, is_encoded: bool) {
        let Some(lanes) = self.slots[index as usize].lanes.as_deref_mut() else { return };
        let active = lanes.active;
        let Some(link) = &mut lanes.nodes[active].channel.link else { return };
        if !is_encoded {
            return;
        }
        lanes.waits = false;
        // The next answer of the session comes there.
        self.io.unread.turn_of(lane_of(index, active));
        let sent = link.send(&self.out);
        self.after_send(lane_of(index, active), sent);
    }

    pub(crate) fn lane_answered(&mut self, at: u32, reply: Reply, stamp_ns: u64) {
        let Some((index, node)) = split(at) else { return };
        let slot = &mut self.slots[index];
        let Some(lanes) = slot.lanes.as_deref_mut() else { return };
        if lanes.active != node || lanes.waits || !slot.session.is_in_flight() {
            let error = Error::new(Kind::Protocol, "the server answered without being asked");
            return self.connection_lost(at, error);
        }
        let index = index as u32;
        let redirect = reply.error.as_ref().and_then(|error| error.redirect);
        if let Some(redirect) = redirect
            && lanes.redirects < REDIRECTS_MAX
        {
            lanes.redirects += 1;
            lanes.active = redirect.node;
            lanes.asking = redirect.asking;
            return self.send_waiting(index);
        }
        lanes.nodes[node].failures = 0;
        let sinks = self.sinks(self.slots[index as usize].group);
        self.outage_over(index);
        let slot = &mut self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        let step = slot.session.answered(stamp_ns, reply, sinks, config);
        self.perform(index, step);
    }

    /// The session has a server again: an outage of it is over.
    pub(super) fn outage_over(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Some(down) = slot.down.take() {
            self.metrics.groups[slot.group].lost.sub(1);
            self.notices.emit(Notice::Outage {
                group: slot.group,
                session: slot.session.number(),
                start_ns: down.since_ns,
                end_ns: Some(self.io.clock.now_ns()),
                cause: down.cause,
            });
        }
    }
}
