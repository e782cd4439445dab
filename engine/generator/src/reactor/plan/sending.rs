//! Carrying out the steps of a session of a plan on its socket.

use super::session_slot::Connection;
use super::worker::Worker;
use crate::reactor::timers::{Cause, Timer};
use crate::reactor::turn::closing::Closing;
use crate::reactor::turn::sending::Sending;
use crate::session::Step;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::{Reply, Task, Wire};
use dyno_core::error::{Error, Kind};

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Starts the connected session, or resumes it.
    pub(crate) fn begin(&mut self, index: u32) {
        if self.origin_ns.is_none() {
            return;
        }
        let now_ns = self.io.clock.now_ns();
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        slot.has_begun = true;
        let step = slot.session.begin(now_ns, sinks, &self.group_targets[slot.group].config);
        self.perform(index, step);
    }

    /// Carries out a step of the session.
    pub(crate) fn perform(&mut self, index: u32, step: Step) {
        match step {
            Step::Send => self.send_request(index),
            Step::Rollback => self.send_aside(index, |wire, out| {
                wire.task(Task::Rollback, out);
            }),
            Step::Wait(at_ns) => self.add_timer(index, at_ns, Cause::Wake),
            Step::SendText(words) => self.send_aside(index, |wire, out| wire.query(&words, out)),
            Step::Rest | Step::Receive => {}
            Step::Leave => self.leave_server(index),
            Step::Reconnect(cause) => {
                self.connection_lost(index, Error::new(Kind::Server, cause));
            }
        }
    }

    fn send_request(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let open = &self.metrics.groups[slot.group].open;
        match &mut slot.connection {
            Connection::Wire(wire) => {
                let Some(link) = &mut slot.channel.link else { return };
                self.out.clear();
                let (ops, transaction) = slot.session.ops();
                for op in ops {
                    wire.request(op, transaction, &mut self.out);
                }
                // Take the time stamp last before the bytes leave.
                self.io.now_ns = self.io.clock.now_ns();
                slot.session.sent(self.io.now_ns, open);
                let sent = link.send(&self.out);
                self.after_send(index, sent);
            }
            Connection::Timed(timed, owed) => {
                self.io.now_ns = self.io.clock.now_ns();
                let t_s = (self.io.now_ns as f64 - self.measure_ns as f64) / 1e9;
                let (ops, transaction) = slot.session.ops();
                let (era, mut latest_ns) = (slot.channel.era, 0);
                for op in ops {
                    let (delay, reply) = timed.execute(op, transaction, t_s);
                    owed.add(reply);
                    // The answers to one session stay in order.
                    latest_ns = latest_ns.max(delay.as_nanos() as u64);
                    match latest_ns {
                        0 => self.instant.push_back(index),
                        delay_ns => {
                            let at_ns = self.io.now_ns + delay_ns;
                            let cause = Cause::Answer;
                            self.io.timers.add(Timer { at_ns, slot: index, era, cause });
                        }
                    }
                }
                slot.session.sent(self.io.now_ns, open);
            }
            Connection::None if slot.lanes.is_some() => return self.route_request(index),
            Connection::None => return,
        }
        self.watch_deadline(index);
    }

    /// Sends bytes that are not a request of the group.
    fn send_aside(&mut self, index: u32, put: impl FnOnce(&mut dyn Wire, &mut Vec<u8>)) {
        let slot = &mut self.slots[index as usize];
        self.io.now_ns = self.io.clock.now_ns();
        slot.session.sent(self.io.now_ns, &self.metrics.groups[slot.group].open);
        match &mut slot.connection {
            Connection::Wire(wire) => {
                put(&mut **wire, &mut slot.channel.output);
                self.send_output(index);
            }
            Connection::Timed(_, owed) => {
                owed.add(Reply::default());
                self.instant.push_back(index);
            }
            Connection::None => return,
        }
        self.watch_deadline(index);
    }

    /// Adds the session's only deadline timer. It is rescheduled when it is due, not at each transaction.
    #[inline]
    pub(crate) fn watch_deadline(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if slot.has_deadline_timer {
            return;
        }
        if let Some(since_ns) = slot.session.under_way_since_ns() {
            slot.has_deadline_timer = true;
            let at_ns = since_ns + self.group_targets[slot.group].config.deadline_ns;
            self.add_timer(index, at_ns, Cause::Deadline);
        }
    }
}
