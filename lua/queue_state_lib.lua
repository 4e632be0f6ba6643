-- What the queue scripts begin with: the keys, the state of the event, and
-- how they answer.
--
-- keys: queue active seen active-seen done revoked threshold epoch state
-- keys: admitted used cleared leaving rate vwr admissions lost
-- keys: slots sold ended completed moved schedule
--
-- The event's id, and its terms: what its line of the configuration says, times
-- in ms; threshold, slots: if no operator sets one; stream: 1 or 0; slots: the
-- seats that there are in all, -1: no end of them; starts: until when nobody is
-- let in, us of Redis, if no operator sets other times; 0: there is no such time; order: 1 if nobody joins
-- before the lots of the waiting room are drawn, 0.
-- args: event threshold active_ttl session_max claim_ttl seen_ttl
-- args: restore_wait admit_interval admit_batch token_ttl stream slots starts
-- args: order
--
-- What the host that calls knows of the event; 0 (threshold, slots, sold: -1):
-- nothing; sale: the version of the times that an operator set, starts: -1 if
-- they were unset.
-- args: host_epoch host_clock host_active host_clear host_threshold
-- args: host_slots host_sold host_sale host_starts
--
-- host_hold: not 0 if it knows that an operator holds the event, 2: those inside
-- too.
-- args: host_hold
--
-- brief: 1 if no operator named the event: what it leaves goes soon.  What time
-- it is here by the host's measure, and for how long it has been in touch with
-- Redis, without a break, ms; 0: it knows neither.  What time it is by the
-- host's own clock, ms; 0: nobody asks.
-- args: brief host_ms in_touch wall
--
-- The answer: the state (see below) and, of one who waits, position and score,
-- of one who is in, when let in (adm, us) and when the session ends (expires, ms);
-- the event's numbers; rate is in 1/1000 a second, -1: none yet; restore: ms
-- for which nobody is let in; did: what the call did; unwritten: admissions that
-- are not in the stream; refused: what Redis refused of what is done by the way,
-- and why, '': nothing; seats: in all, as the API set them, -1: it did not;
-- sold: -1: nobody knows.  A step means something else by position and score,
-- see there.
-- reply: state position size active threshold us clock epoch score adm expires
-- reply: rate api_threshold clear restore total did lost ended unwritten
-- reply: seats sold refused
--
-- The event's clock (us) dates everything: it is Redis's time, but never
-- goes back and never gives the same time twice, whatever failover or
-- restart does to Redis's clock, as far as anyone who calls knows better.
-- Plain Redis time (us, ms) only measures what expires.  Neither is believed
-- where it is more than a day from what others say: a Redis that is that far
-- from the host does nothing, and what such a one wrote is mended.
--
-- Numbers stay below 2^53, where Lua's are exact, and are printed in full.
--
-- All that functions share is in the two tables k (keys) and q (the rest, the
-- functions too): Redis runs the whole text for each call, and what making a
-- function costs then is the number of locals that it captures.  Those that
-- most calls do without are in queue_lib.lua.

local k = {
  queue = KEY.queue, active = KEY.active, seen = KEY.seen,
  active_seen = KEY.active_seen, done = KEY.done, revoked = KEY.revoked,
  threshold = KEY.threshold, epoch = KEY.epoch, state = KEY.state,
  admitted = KEY.admitted, used = KEY.used, cleared = KEY.cleared,
  leaving = KEY.leaving, rate = KEY.rate, vwr = KEY.vwr,
  stream = KEY.admissions, lost = KEY.lost,
  slots = KEY.slots, sold = KEY.sold, ended = KEY.ended,
  completed = KEY.completed, moved = KEY.moved, schedule = KEY.schedule,
}

local NOT_IN, WAITING, ACTIVE, POSITION_USED, NEEDS_TIER1, READY = 0, 1, 2, 3,
                                                                   4, 5
local FULL, TOO_LONG, SOLD_OUT, NOT_HERE, BOUGHT, UNDRAWN = 6, 7, 8, 9, 10,
                                                            11

-- what a call did, as a sum, for the host that called to count
local JOINED, ENTERED, PLACE_BACK, SESSION_BACK, LEFT, REVOKED, SETTLES =
      1, 2, 4, 8, 16, 32, 64
local COMPLETED, LATE = 128, 256

local call = redis.call

-- @include time_lib.lua

local set = call('MGET', k.epoch, k.threshold, k.slots, k.sold)
local st = call('HMGET', k.state, 'clock', 'clear', 'restore', 'gap', 'rate',
                'floor', 'floor_until', 'back', 'touched', 'step', 'clean',
                'busy', 'slack', 'slack_at', 'beacon', 'base', 'settle',
                'had', 'met', 'total', 'due', 'stepped', 'fade', 'unsold',
                'reached', 'hold', 'follow', 'follow_threshold',
                'follow_trial', 'follow_total', 'still', 'still_at')

-- What was ended before that, and who was there, is not known any more.
if (st[1] or 0) + 0 > far or (st[2] or 0) + 0 > far then
  st[1], st[2] = us, (st[2] or 0) + 0 > far and us or st[2] or 0
  call('HSET', k.state, 'clock', string.format('%.0f', us),
       'clear', string.format('%.0f', st[2]))
end

local q = {
  event = ARG.event,

  active_ttl = ARG.active_ttl + 0, session_max = ARG.session_max + 0,
  claim_ttl = ARG.claim_ttl + 0, seen_ttl = ARG.seen_ttl + 0,
  restore_wait = ARG.restore_wait + 0, admit_interval = ARG.admit_interval + 0,
  admit_batch = ARG.admit_batch + 0, token_ttl = ARG.token_ttl + 0,
  stream = ARG.stream == '1',

  host_epoch = told(ARG.host_epoch), host_clock = told(ARG.host_clock),
  host_active = ARG.host_active + 0,
  host_clear = told(ARG.host_clear), host_threshold = ARG.host_threshold + 0,
  host_slots = ARG.host_slots + 0, host_sold = ARG.host_sold + 0,

  brief = ARG.brief == '1',
  host_ms = ARG.host_ms + 0, in_touch = ARG.in_touch + 0,

  -- the times that Redis has, whatever hosts know
  stored = (st[1] or 0) + 0, stored_clear = (st[2] or 0) + 0,

  us = us, ms = ms, far = far,

  epoch = told(set[1]),
  api_threshold = (set[2] or -1) + 0,   -- what the API set, -1: nothing

  -- k.slots has how many seats are left of those that the API set
  api_slots = set[3] and set[3] + (set[4] or 0) or -1,
  sold = (set[4] or 0) + 0,
  known = set[4] and true or false,     -- sold was written, if only as 0

  -- how many wait, and are in; functions that change that keep count
  size = call('ZCARD', k.queue), active = call('ZCARD', k.active),

  -- of the event; times of the clock in us, others in ms
  clock = math.max((st[1] or 0) + 0, told(ARG.host_clock)),
  clear = math.max((st[2] or 0) + 0, told(ARG.host_clear)),
  restore = (st[3] or 0) + 0,       -- until then places are restored
  gap = (st[4] or 0) + 0,           -- until then nothing ends
  rate = (st[5] or 0) + 0,          -- admissions per 1000 s
  floor = (st[6] or 0) + 0,         -- at least so many count as active
  floor_until = (st[7] or 0) + 0,
  back = (st[8] or 0) + 0,          -- of these, how many are back
  touched = (st[9] or 0) + 0,       -- when all keys last were
  step = (st[10] or 0) + 0,         -- when the schedule last was here
  due = (st[21] or 0) + 0,          -- when it is due again
  stepped = (st[22] or 0) + 0,      -- step, as written by hosts that know "due"
  clean = (st[11] or 0) + 0,        -- and cleaned up
  busy = told((st[12] or 0) * 1000) / 1000,       -- when users came to an empty event
  slack = (st[13] or 0) + 0,        -- given to sessions by the last gap
  slack_at = (st[14] or 0) + 0,
  beacon = (st[15] or 0) + 0,       -- not 0: someone may be in k.leaving
  base = (st[16] or 0) + 0,         -- active in the data that came back
  settle = (st[17] or 0) + 0,       -- until then nobody is let in
  had = (st[18] or 0) + 0,          -- what the clock was when Redis was back
  met = (st[19] or 0) + 0,          -- which was then, us
  total = (st[20] or 0) + 0,        -- admissions ever, in this data
  faded = (st[23] or 0) + 0,        -- when its keys began to go; 0: they stay
  unsold = st[24] and true or false,    -- what was sold is lost
  reached = told(st[25]),           -- the last time of the sale that was, us

  -- whether an operator holds everybody outside, and those inside too, whose
  -- sessions stand still; else up to when they do, of who was in up to then, us
  hold = (st[26] or '0') ~= '0' or ARG.host_hold ~= '0',
  held_inside = st[26] == '2' or ARG.host_hold == '2',
  still = (st[31] or 0) + 0,
  still_at = told(st[32]),

  -- limits by the backend, of follow.lua, until then, -1: none; where it is
  -- stopped how many are let in on trial, -1: it is not, until so many were in all
  follow = (st[27] or 0) + 0,
  follow_threshold = (st[28] or -1) + 0,
  trial = (st[29] or -1) + 0,
  trial_to = (st[30] or 0) + 0,

  did = 0,
  lost = 0,                         -- sessions that were never claimed, and
  ended = 0,                        -- others that ran out, taken back
  unwritten = 0, refused = '',
}


-- the threshold in force
function q.threshold()
  return q.api_threshold >= 0 and q.api_threshold or ARG.threshold + 0
end

-- how many seats there are in all; -1: no end of them
function q.seats()
  return q.api_slots >= 0 and q.api_slots or ARG.slots + 0
end

-- A time in the future, but by no more than it ever is set ahead: Redis's
-- clock may have gone back since.
function q.ahead(till, by)
  return q.ms < till and till - q.ms <= by
end

function q.reply(state, position, score, adm, expires)
  if q.brief and q.epoch ~= 0 and q.size + q.active == 0 and q.faded == 0 then
    q.fade()
  end
  return { [REPLY.state] = state,
           [REPLY.position] = position or 0,
           [REPLY.size] = q.size,
           [REPLY.active] = q.active,
           [REPLY.threshold] = q.threshold(),
           [REPLY.us] = q.us,
           [REPLY.clock] = q.stored,
           [REPLY.epoch] = q.epoch,
           [REPLY.score] = score or 0,
           [REPLY.adm] = adm or 0,
           [REPLY.expires] = expires or 0,
           [REPLY.rate] = q.rate > 0 and q.rate or -1,
           [REPLY.api_threshold] = q.api_threshold,
           [REPLY.clear] = q.clear,
           [REPLY.restore] = q.ahead(q.restore, q.restore_wait)
                             and q.restore - q.ms or 0,
           [REPLY.total] = q.total,
           [REPLY.did] = q.did,
           [REPLY.lost] = q.lost,
           [REPLY.ended] = q.ended,
           [REPLY.unwritten] = q.unwritten,
           [REPLY.seats] = q.api_slots,
           [REPLY.sold] = q.unsold and -1 or q.sold,
           [REPLY.refused] = q.refused }
end
