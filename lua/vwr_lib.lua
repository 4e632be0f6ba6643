-- What the scripts of the waiting room share; put in front of each of them.
--
-- keys: vwr state epoch schedule hold
--
-- Of the configuration: positions served a second, and how far ahead of the
-- last one issued the counter may be (-1: as far as the rate).
-- args: rate burst
--
-- The times of the sale by the configuration, us of Redis, 0: there is none;
-- opens -1: the configuration keeps the room off.  And by an operator, as the
-- host knows; host_sale 0: it knows of none, host_opens -1: they were unset.
-- args: opens starts closes host_sale host_opens host_starts host_closes
--
-- host_hold: not 0 if the host knows that an operator holds the event.
-- args: host_hold
--
-- Whether tickets are lots, which are drawn at the start: 0 no, 1 yes, 2 with a
-- beacon, by the configuration, for a sale that opens; and the draw of the host's
-- activation, as it knows that, 0: nothing.
-- args: order host_order host_lots host_drawn host_base host_ready
--
-- What the host that calls knows: the event's clock, and the room as "v" below
-- has it; 0 (api_rate: -1, set_by: api): nothing.  wall: what time it is by its
-- own clock, ms; 0: nobody asks.
-- args: host_clock host_activation host_next host_serving host_active
-- args: host_set_by host_api_rate host_changed host_issue wall
--
-- The answer is the room after the call; lost: 1 if data was; sale: the version
-- of the times that an operator set, as they are kept here, so that the host sees
-- what was lost, which follow, opens -1: none are set;
-- order: as above, of the activation; lots: how many were drawn, drawn: when their
-- number was fixed, us of the event's clock, 0: it was not; base: the time that
-- their positions are added to; ready: when all that makes the draw was there, us
-- of Redis, 0: it is not; committed: when its commitment was made, 0: there is
-- none, see draw.lua; passed: the last number that the counter passed over
-- without calling it, 0: none.  Result and at are of each script.
-- reply: us clock active by_config activation next serving rate api_rate
-- reply: changed issue lost sale opens starts closes
-- reply: order lots drawn base ready committed passed
--
-- hold, held, since: when an operator last held the event or let it go, as
-- hold.lua has it.
-- reply: hold held since result at
--
-- The event's clock (us) dates activations, changes and tickets, as it does
-- for the queue: see queue_state_lib.lua.  Plain Redis time moves the counter.
--
-- What an operator decides (active, set_by, api_rate) is as of `changed`, a
-- time of that clock: the latest decision that anybody knows stands.  The
-- counters are those of `activation`, and never go back within it.

local k = { vwr = KEY.vwr, state = KEY.state, epoch = KEY.epoch,
            schedule = KEY.schedule }

local WEEK = 604800

-- us
local READ_BACK = 500000

-- ms for which limits by the backend hold, if nobody renews them
local FOLLOW = 120000

local call = redis.call

-- @include time_lib.lua

local h = call('HMGET', k.vwr, 'active', 'next', 'activation', 'changed',
               'updated', 'set_by', 'api_rate', 'issue', 'issue_next',
               'issue_at', 'restored', 'touched', 'began', 'dead', 'draw_of',
               'stepped', 'hand_from', 'hand_to', 'serving', 'part', 'older',
               'idle', 'passed', 'rest', 'skipped', 'rate', 'come_since')

local st = call('HMGET', k.state, 'clock', 'reached', 'hold', 'follow',
                'follow_rate', 'follow_trial', 'follow_serving', 'follow_of')
local hold, set = {}, {}

-- most events have neither key
if call('EXISTS', KEY.hold, k.schedule) > 0 then
  hold = call('HMGET', KEY.hold, 'version', 'held', 'since')
  set = call('HMGET', k.schedule, 'version', 'opens', 'starts', 'closes')
end

local v = {
  us = us, ms = ms,

  clock = math.max(told(st[1]), told(ARG.host_clock)),

  active = (h[1] or 0) + 0,
  next = (h[2] or 0) + 0,           -- the last position issued
  serving = (h[19] or 0) + 0,
  part = (h[20] or 0) + 0,          -- of the next one, in millionths
  activation = told(h[3]),          -- us; 0: never activated
  changed = told(h[4]),             -- us
  updated = (h[5] or 0) + 0,        -- us of Redis, when serving last moved
  set_by = h[6] or 'api',
  api_rate = (h[7] or -1) + 0,      -- -1: not set
  issue = (h[8] or 0) + 0,          -- positions issued a second, at the peak
  issue_next = (h[9] or 0) + 0,     -- the same, counted since
  issue_at = (h[10] or 0) + 0,
  restored = (h[11] or 0) + 0,      -- ms, when last after a loss
  touched = (h[12] or 0) + 0,       -- ms, when the keys last were
  began = (h[13] or 0) + 0,         -- ms, when the configuration began it
                                    -- here, where there was nothing
  dead = (h[14] or 0) + 0,          -- an activation that was given up
  older = (h[21] or 0) + 0,         -- us, when a host of an older version
                                    -- last moved it: it sets no "stepped"
  idle = (h[22] or 0) + 0,          -- us, when last nobody waited

  -- from where on, and up to where, an operator last moved it
  hand_from = (h[17] or 0) + 0, hand_to = (h[18] or 0) + 0,

  passed = (h[23] or 0) + 0,        -- the last number that was passed over,
                                    -- see come_lib.lua
  rest = (h[24] or 0) + 0,          -- how what come_lib.lua keeps stands, see
                                    -- v.stands(), 0: it is to be looked at

  come_since = told(h[27]),         -- as the last step that looked told hosts

  -- after which number none is known to have been issued before a loss, and up
  -- to which none was after it
  skip_from = 0, skip_to = 0,

  lost = 0,

  reached = told(st[2]),            -- the last time of the sale that was

  -- an operator holds all who are outside
  hold = (st[3] or '0') ~= '0' or ARG.host_hold ~= '0',

  -- limits by the backend, of follow.lua: 1/1000 a second, -1: none; where it
  -- is stopped how many are let in on trial, -1: it is not, and up to which
  -- position
  pace = -1, trial = -1, trial_to = 0,

  -- of the draw of the activation
  order = 0, lots = 0, drawn = 0, base = 0, ready = 0, committed = 0,
}

if h[15] and h[15] ~= '0' and h[15] == h[3] then
  local d = call('HMGET', k.vwr, 'order', 'lots', 'drawn', 'base', 'ready',
                 'committed')
  v.order, v.lots, v.drawn = (d[1] or 0) + 0, (d[2] or 0) + 0, told(d[3])
  v.base, v.ready, v.committed = told(d[4]), told(d[5]), told(d[6])
end

if h[25] then
  local of, from, to = string.match(h[25], '^(%d+) (%d+) (%d+)$')
  if of == h[3] then
    v.skip_from, v.skip_to = from + 0, to + 0
  end
end

if h[5] and h[5] ~= h[16] then
  v.older = us
end

if st[4] and st[4] - ms > 0 and st[4] - ms <= FOLLOW then
  v.pace, v.trial = st[5] + 0, st[6] + 0
  v.trial_to = st[8] == h[3] and st[7] + 0 or 0
end

local host = {
  activation = told(ARG.host_activation), next = ARG.host_next + 0,
  serving = ARG.host_serving + 0, active = ARG.host_active + 0,
  set_by = ARG.host_set_by, api_rate = ARG.host_api_rate + 0,
  changed = told(ARG.host_changed), issue = ARG.host_issue + 0,
  order = ARG.host_order + 0, lots = ARG.host_lots + 0,
  drawn = told(ARG.host_drawn), base = told(ARG.host_base),
  ready = told(ARG.host_ready),
}


-- The times of the sale: an operator's, of what is kept here and what the host
-- knows the later ones; else the configuration's.
local sale = {
  version = (set[1] or 0) + 0, opens = (set[2] or -1) + 0,
  starts = (set[3] or 0) + 0, closes = (set[4] or 0) + 0,
}

if ARG.host_sale + 0 > sale.version and ARG.host_sale + 0 <= far then
  sale.version, sale.opens = ARG.host_sale + 0, ARG.host_opens + 0
  sale.starts, sale.closes = ARG.host_starts + 0, ARG.host_closes + 0
end

if sale.opens >= 0 then
  v.opens, v.starts, v.closes = sale.opens, sale.starts, sale.closes
else
  v.opens, v.starts = math.max(ARG.opens + 0, 0), ARG.starts + 0
  v.closes = ARG.closes + 0
end

-- nobody is let in ahead of it, nor ahead of the opening
v.starts = math.max(v.starts, v.opens)

-- Whether that time of the sale has come.  It stays so even if Redis's clock
-- goes back, as after a failover, until an operator sets a later one.
function v.has_come(at)
  return v.us >= at or v.reached >= at
end

function v.int(n)
  return string.format('%.0f', n)
end

function v.write(...)
  local args = {}
  for _, field in ipairs({...}) do
    local value = v[field]
    args[#args + 1] = field
    args[#args + 1] = type(value) == 'number' and v.int(value) or value
  end
  call('HSET', k.vwr, unpack(args))
end

function v.now()
  return math.max(v.us, v.clock)
end

-- n new times of the event's clock, one after the other: the first
function v.tick(n)
  local first = math.max(v.us, v.clock + 1)
  v.clock = first + n - 1
  call('HSET', k.state, 'clock', v.int(v.clock))
  return first
end

local function seldom()
  if v.begin then
    return
  end
-- @include vwr_seldom_lib.lua
end

-- the rate a second, as set
function v.rate_set()
  return v.api_rate >= 0 and v.api_rate or ARG.rate + 0
end

-- the rate in force: what the backend takes may be less, and no whole number
function v.rate_in_force()
  local rate = v.rate_set()
  return v.pace >= 0 and math.min(rate, v.pace / 1000) or rate
end

-- how far the counter may be ahead of the last position issued
function v.burst()
  local burst = ARG.burst + 0 < 0 and v.rate_set() or ARG.burst + 0
  return v.pace >= 0 and math.min(burst, math.ceil(v.pace / 1000)) or burst
end

-- Notes which time of the sale has come.
function v.reach()
  if v.starts == 0 and v.closes == 0 then
    return
  end
  for _, at in ipairs({ v.opens, v.starts, v.closes }) do
    if v.us >= at and at > v.reached and v.activation > 0 and st[1] then
      v.reached = at
      call('HSET', k.state, 'reached', v.int(at))
    end
  end
end

-- The schedule activates the room when the sale opens, however long after that
-- somebody comes to do it, up to a week.  What an operator decided since then
-- stands, once it has started; tickets given out since then stay good.
function v.open()
  local from = v.opens > 0 and v.opens or v.starts
  -- a room that has let people in by arrival goes on like that
  local lots = ARG.order ~= '0' and v.order == 0 and not v.has_come(v.starts)
               and (v.serving == 0 or v.activation < v.opens)
  if v.active == 1 and not lots or ARG.opens == '-1' or from == 0
     or not v.has_come(v.opens)
     or v.closes > 0 and v.has_come(v.closes)
     or v.has_come(v.starts)
        and (v.changed >= from or v.us - from > WEEK * 1000000)
  then
    return
  end
  seldom()
  -- without an opening only the activation tells this sale from the one before
  if v.activation == 0 or v.activation < v.opens
     or ARG.order ~= '0' and v.opens == 0 and v.active == 0
  then
    local nothing = v.activation == 0
    v.begin(v.tick(1))
    v.began = nothing and v.ms or 0
    v.order = ARG.order + 0
  elseif lots then
    v.order = ARG.order + 0
  end
  v.active, v.updated = 1, v.us
  v.set_by = sale.opens >= 0 and 'api' or 'config'
  v.changed = v.tick(1)
  v.save()
end

-- Of two draws of an activation the earlier stands.  A beacon comes by
-- draw.lua, which has its text.
function v.hear_draw()
  if host.order == 0 or host.activation ~= v.activation then
    return
  end
  local earlier = host.drawn > 0 and (v.drawn == 0 or host.drawn < v.drawn)
  if v.order > 0 and not earlier then
    return
  end
  seldom()
  v.order = host.order
  if earlier then
    v.lots, v.drawn, v.base = host.lots, host.drawn, host.base
    v.ready = (v.order == 1 or v.lots == 0) and host.ready or 0
    v.clock = math.max(v.clock, v.base + v.lots)
    call('HDEL', k.vwr, 'beacon')
  end
  v.lost = 1
  v.tick(1)
  v.save()
end

-- Fixes how many lots there are, at the start or when somebody first comes
-- after it, and puts the event's clock past all times that lots will have: who
-- comes later stands behind them.
function v.draw()
  if v.order == 0 or v.active == 0 or v.drawn > 0
     or not v.has_come(v.starts)
  then
    return
  end
  seldom()
  v.base = v.starts > 0 and v.starts or v.us
  v.lots, v.drawn = v.next, v.tick(1)
  v.ready = (v.order == 1 or v.lots == 0) and v.us or 0
  v.clock = math.max(v.clock, v.base + v.lots)
  v.tick(1)
  v.save()
end

-- Until when those who tell of the draw have to read it back; 0: there is
-- none, or they have, and Redis's clock went back since.
function v.read_back()
  return v.order > 0 and v.us >= v.ready and v.ready + READ_BACK or 0
end

-- Whether the sale has not started, or its draw is not made, or only just
-- made.
function v.is_early()
  return not v.has_come(v.starts)
         or v.order > 0 and (v.ready == 0 or v.us < v.read_back())
end

-- Whether nobody is let in: for these reasons, or since an operator has all
-- wait, or the backend does, but for those on trial.
function v.waits()
  return v.is_early() or v.hold or v.trial >= 0
end

-- Somebody who knows more than Redis does tells of a loss of data.
function v.hear_host()
  if host.activation == v.activation and host.next <= v.next
     and host.serving <= v.serving and host.changed <= v.changed
     and (v.active == 0 or v.activation > 0)
  then
    return
  end
  seldom()
  v.hear_all()
end

-- Where the backend has all wait, lets so many in on trial.
function v.move_on_trial()
  if v.rate_set() > 0 and not v.hold and not v.is_early() then
    v.serving = math.max(v.serving, math.min(v.trial_to, v.next + v.trial))
  end
end

-- Where all wait, so do those who get numbers from now on, even if the counter
-- was ahead of them: but for those on trial.  Lots are no positions.
function v.pass_by()
  local all = v.hold or v.order == 0 and v.is_early()
  local to = all and v.serving or v.trial_to - v.trial
  if (all or v.trial >= 0) and to > v.next and to <= v.serving then
    v.next = to
  end
end

-- us since the counter last moved, as far as people were let in; 3 s at most.
function v.elapsed()
  local since = v.us - v.updated
  if v.starts > 0 or v.order > 0 then
    for _, from in ipairs({ v.starts, v.read_back() }) do
      since = math.min(since, v.us >= from and v.us - from or since)
    end
  end
  return math.max(0, math.min(since, 3000000))
end

-- Moves the counter on by the time that has passed, but no further ahead of
-- the last position issued than the burst.
function v.move()
  if v.active == 0 then
    return
  end
  if v.waits() then
    v.part, v.updated = 0, v.us
    if v.trial >= 0 then
      v.move_on_trial()
    end
    return
  end
  local sum = v.part + math.floor(v.rate_in_force() * v.elapsed())
  local to = v.serving + math.floor(sum / 1000000)
  local limit = math.max(v.next + v.burst(), v.serving)
  v.part = sum % 1000000
  if to >= limit then
    to, v.part = limit, 0
  end
  v.serving = to
  v.updated = v.us
end

function v.reply(result, at)
  return { [REPLY.us] = v.us,
           [REPLY.clock] = v.now(),
           [REPLY.active] = v.active,
           [REPLY.by_config] = v.set_by == 'config' and 1 or 0,
           [REPLY.activation] = v.activation,
           [REPLY.next] = v.next,
           [REPLY.serving] = v.serving,
           [REPLY.rate] = v.rate_set(),
           [REPLY.api_rate] = v.api_rate,
           [REPLY.changed] = v.changed,
           [REPLY.issue] = v.issue,
           [REPLY.lost] = v.lost,
           [REPLY.sale] = (set[1] or 0) + 0,
           [REPLY.opens] = (set[2] or -1) + 0,
           [REPLY.starts] = (set[3] or 0) + 0,
           [REPLY.closes] = (set[4] or 0) + 0,
           [REPLY.order] = v.order,
           [REPLY.lots] = v.lots,
           [REPLY.drawn] = v.drawn,
           [REPLY.base] = v.base,
           [REPLY.ready] = v.ready,
           [REPLY.committed] = v.committed,
           [REPLY.passed] = v.passed,
           [REPLY.hold] = (hold[1] or 0) + 0,
           [REPLY.held] = (hold[2] or 0) + 0,
           [REPLY.since] = (hold[3] or 0) + 0,
           [REPLY.result] = result,
           [REPLY.at] = at }
end
