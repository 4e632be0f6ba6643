-- What the queue scripts begin with: the keys, and the state of the event.
--
-- The event's clock (us) dates everything: it is Redis's time, but never
-- goes back and never gives the same time twice, whatever failover or
-- restart does to Redis's clock, as far as anyone who calls knows better.
-- Plain Redis time (us, ms) only measures what expires.
--
-- Numbers stay below 2^53, where Lua's are exact, and are printed in full.
--
-- All that functions share is in the two tables k (keys) and q (the rest, the
-- functions too): Redis runs the whole text for each call, and what making a
-- function costs then is the number of locals that it captures.  Those that
-- most calls do without are in queue_lib.lua.

local k = {
  queue = KEYS[1], active = KEYS[2], seen = KEYS[3], active_seen = KEYS[4],
  done = KEYS[5], revoked = KEYS[6], threshold = KEYS[7], epoch = KEYS[8],
  state = KEYS[9], admitted = KEYS[10], used = KEYS[11], cleared = KEYS[12],
  leaving = KEYS[13], rate = KEYS[14], vwr = KEYS[15], stream = KEYS[16],
}

local NOT_IN, WAITING, ACTIVE, POSITION_USED, NEEDS_TIER1 = 0, 1, 2, 3, 4

-- what a call did, as a sum; the host that called counts it
local JOINED, ENTERED, PLACE_BACK, SLOT_BACK, LEFT, REVOKED = 1, 2, 4, 8, 16,
                                                              32

local call = redis.call

local time = call('TIME')
local set = call('MGET', k.epoch, k.threshold)
local st = call('HMGET', k.state, 'clock', 'clear', 'restore', 'gap', 'rate',
                'floor', 'floor_until', 'back', 'touched', 'step', 'clean',
                'busy', 'slack', 'slack_at', 'beacon', 'base', 'settle',
                'had', 'met', 'total', 'due', 'stepped', 'fade')

local q = {
  event = ARGV[1],

  -- of the configuration, ms
  active_ttl = ARGV[3] + 0, session_max = ARGV[4] + 0,
  claim_ttl = ARGV[5] + 0, seen_ttl = ARGV[6] + 0,
  restore_wait = ARGV[7] + 0, admit_interval = ARGV[8] + 0,
  admit_batch = ARGV[9] + 0, token_ttl = ARGV[10] + 0,
  stream = ARGV[11] == '1',

  -- what the host that calls knows of the event; 0 (threshold: -1): nothing
  host_epoch = ARGV[12] + 0, host_clock = ARGV[13] + 0,
  host_active = ARGV[14] + 0,
  host_clear = ARGV[15] + 0, host_threshold = ARGV[16] + 0,

  -- no operator named the event: what it leaves goes soon
  brief = ARGV[17] == '1',

  -- what time it is here by the host's measure, and for how long it has been
  -- in touch with Redis, without a break, ms; 0: it knows neither
  host_ms = ARGV[18] + 0, in_touch = ARGV[19] + 0,

  -- as Redis has them, whatever hosts know
  stored = (st[1] or 0) + 0, stored_clear = (st[2] or 0) + 0,

  us = time[1] * 1000000 + time[2],
  ms = time[1] * 1000 + math.floor(time[2] / 1000),

  epoch = (set[1] or 0) + 0,
  api_threshold = (set[2] or -1) + 0,   -- what the API set, -1: nothing

  -- how many wait and are in; functions that change it keep count
  size = call('ZCARD', k.queue), active = call('ZCARD', k.active),

  -- of the event; times of the clock in us, others in ms
  clock = math.max((st[1] or 0) + 0, ARGV[13] + 0),
  clear = math.max((st[2] or 0) + 0, ARGV[15] + 0),
  restore = (st[3] or 0) + 0,       -- until then places are restored
  gap = (st[4] or 0) + 0,           -- until then nothing ends
  rate = (st[5] or 0) + 0,          -- admissions per 1000 s
  floor = (st[6] or 0) + 0,         -- at least so many count as active
  floor_until = (st[7] or 0) + 0,
  back = (st[8] or 0) + 0,          -- less those who are back
  touched = (st[9] or 0) + 0,       -- when all keys last were
  step = (st[10] or 0) + 0,         -- when the schedule last was here
  due = (st[21] or 0) + 0,          -- and is to be here again
  stepped = (st[22] or 0) + 0,      -- step, as hosts that know "due" wrote it
  clean = (st[11] or 0) + 0,        -- and cleaned up
  busy = (st[12] or 0) + 0,         -- when users came to an empty event
  slack = (st[13] or 0) + 0,        -- given to sessions by the last gap
  slack_at = (st[14] or 0) + 0,
  beacon = (st[15] or 0) + 0,       -- not 0: someone may be in k.leaving
  base = (st[16] or 0) + 0,         -- active in the data that came back
  settle = (st[17] or 0) + 0,       -- until then nobody is let in
  had = (st[18] or 0) + 0,          -- what the clock was when Redis was back
  met = (st[19] or 0) + 0,          -- which was then, us
  total = (st[20] or 0) + 0,        -- admissions ever, in this data
  faded = (st[23] or 0) + 0,        -- when its keys began to go; 0: they stay

  did = 0,
  lost = 0,                         -- slots that were never claimed, and
  ended = 0,                        -- others that ran out, taken back
}


-- what is in force
function q.threshold()
  return q.api_threshold >= 0 and q.api_threshold or ARGV[2] + 0
end

-- A time ahead, but not by more than it was ever set ahead: Redis's clock
-- may have gone back since.
function q.ahead(till, by)
  return q.ms < till and till - q.ms <= by
end

function q.reply(state, position, score, adm, expires)
  if q.brief and q.epoch ~= 0 and q.size + q.active == 0 and q.faded == 0 then
    q.fade()
  end
  return { state, position or 0, q.size, q.active, q.threshold(), q.us,
           q.stored, q.epoch, score or 0, adm or 0, expires or 0,
           q.rate > 0 and q.rate or -1, q.api_threshold, q.clear,
           q.ahead(q.restore, q.restore_wait) and q.restore - q.ms or 0,
           q.total, q.did, q.lost, q.ended }
end
