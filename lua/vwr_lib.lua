-- What the scripts of the waiting room share; put in front of each of them.
--
-- keys: vwr state epoch
--
-- Of the configuration: positions served a second, and how far ahead of the
-- last one issued the counter may be (-1: as far as the rate).
-- args: rate burst
--
-- What the host that calls knows: the event's clock, and the room as "v" below
-- has it; 0 (api_rate: -1, set_by: api): nothing.  wall: what time it is by its
-- own clock, ms; 0: nobody asks.
-- args: host_clock host_activation host_next host_serving host_active
-- args: host_set_by host_api_rate host_changed host_issue wall
--
-- The answer is the room after the call; lost: 1 if data was; result and at are
-- of each script.
-- reply: us clock active by_config activation next serving rate api_rate
-- reply: changed issue lost result at
--
-- The event's clock (us) dates activations, changes and tickets, as it does
-- for the queue: see queue_state_lib.lua.  Plain Redis time moves the counter.
--
-- What an operator decides (active, set_by, api_rate) is as of `changed`, a
-- time of that clock: the latest decision that anybody knows stands.  The
-- counters are those of `activation`, and never go back within it.

local k = { vwr = KEY.vwr, state = KEY.state, epoch = KEY.epoch }

local WEEK = 604800

local call = redis.call

local time = call('TIME')
local h = call('HMGET', k.vwr, 'active', 'next', 'serving', 'part',
               'activation', 'changed', 'updated', 'set_by', 'api_rate',
               'issue', 'issue_next', 'issue_at', 'restored', 'touched',
               'began', 'dead')

local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local far = us + 86400000000

if ARG.wall ~= '0' and math.abs(ms - ARG.wall) > 86400000 then
  return redis.error_reply("ERR the time of Redis, " .. time[1]
                           .. ", is more than a day from the host's")
end

-- a time that somebody tells; 0: it can't be
local function told(t)
  t = (t or 0) + 0
  return t <= far and t or 0
end

local v = {
  us = us, ms = ms,

  clock = math.max(told(call('HGET', k.state, 'clock')), told(ARG.host_clock)),

  active = (h[1] or 0) + 0,
  next = (h[2] or 0) + 0,           -- the last position issued
  serving = (h[3] or 0) + 0,
  part = (h[4] or 0) + 0,           -- of the next one, in millionths
  activation = told(h[5]),          -- us; 0: never activated
  changed = told(h[6]),             -- us
  updated = (h[7] or 0) + 0,        -- us of Redis, when serving last moved
  set_by = h[8] or 'api',
  api_rate = (h[9] or -1) + 0,      -- -1: not set
  issue = (h[10] or 0) + 0,         -- positions issued a second, at the peak
  issue_next = (h[11] or 0) + 0,    -- measured since
  issue_at = (h[12] or 0) + 0,
  restored = (h[13] or 0) + 0,      -- ms, when last after a loss
  touched = (h[14] or 0) + 0,       -- ms, when the keys last were
  began = (h[15] or 0) + 0,         -- ms, when the configuration began it
                                    -- here, where there was nothing
  dead = (h[16] or 0) + 0,          -- an activation that was given up

  lost = 0,
}

local host = {
  activation = told(ARG.host_activation), next = ARG.host_next + 0,
  serving = ARG.host_serving + 0, active = ARG.host_active + 0,
  set_by = ARG.host_set_by, api_rate = ARG.host_api_rate + 0,
  changed = told(ARG.host_changed), issue = ARG.host_issue + 0,
}


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

-- The room comes last: a call that is refused leaves it as it was.
function v.touch(...)
  v.touched = v.ms
  call('EXPIRE', k.state, WEEK)
  call('EXPIRE', k.epoch, WEEK)
  if v.active == 1 then
    call('PERSIST', k.vwr)
  end
  v.write('touched', ...)
  if v.active == 0 then
    call('EXPIRE', k.vwr, WEEK)
  end
end

function v.save()
  v.rate = v.rate_in_force()
  v.touch('active', 'next', 'serving', 'part', 'rate', 'activation',
          'changed', 'updated', 'set_by', 'api_rate', 'issue', 'issue_next',
          'issue_at', 'restored', 'began', 'dead')
end

-- a second
function v.rate_in_force()
  return v.api_rate >= 0 and v.api_rate or ARG.rate + 0
end

function v.begin(activation)
  v.activation = activation
  v.next, v.serving, v.part = 0, 0, 0
  v.began = 0
  v.updated = v.us
  v.issue_next, v.issue_at = 0, v.us
end

-- The tickets that were issued last may be known to no host that calls, so
-- that positions go on well after what this one knows; once, as far as that
-- covers what the others know.
function v.skip()
  if host.next > v.next or v.ms - v.restored > 10000 or v.ms < v.restored then
    v.issue = math.max(v.issue, host.issue)
    v.next = math.max(v.next, host.next) + math.max(1000, 2 * v.issue)
    v.issue_next = v.next
  end
end

-- A host that starts just after a loss knows of nothing, and vwr=on begins a
-- new activation there: the one before it goes on once somebody tells of it,
-- and the few tickets of the new one are given up for the many of the old.
function v.hear_earlier()
  if host.activation == 0 or host.activation >= v.activation
     or v.began == 0 or v.ms - v.began > 60000 or v.ms < v.began then
    return
  end
  v.dead = v.activation
  v.begin(host.activation)
  v.restored = 0
  v.skip()
  v.serving = host.serving
  v.api_rate = host.api_rate
  v.restored = v.ms
  v.lost = 1
  v.changed = v.tick(1)
  v.save()
end

-- What was activated at a time that can't be begins anew.
function v.mend()
  if v.active == 1 and v.activation == 0 then
    v.begin(v.tick(1))
    v.changed = v.tick(1)
    v.save()
  end
end

-- Who knows more than is here tells of a loss of data.
function v.hear_host()
  v.hear_earlier()

  local older = host.activation > v.activation and host.activation ~= v.dead
  local behind = older or host.activation == v.activation
                          and (host.next > v.next or host.serving > v.serving)

  if not behind and host.changed <= v.changed then
    v.mend()
    return
  end

  if older then
    v.begin(host.activation)
    v.restored = 0
  end

  if host.activation == v.activation and v.activation > 0 then
    v.skip()
    v.serving = math.max(v.serving, host.serving)
  end

  if host.changed > v.changed then
    if v.active == 0 then
      v.updated = v.us
    end
    v.changed = host.changed
    v.active, v.set_by, v.api_rate = host.active, host.set_by, host.api_rate
  end

  v.mend()
  v.restored = v.ms
  v.lost = 1
  v.tick(1)
  v.save()
end

-- Moves the counter on by the time passed: never by more than 3 s of it, and
-- never further ahead of the last position issued than the burst.
function v.move()
  if v.active == 0 then
    return
  end
  local rate = v.rate_in_force()
  local burst = ARG.burst + 0
  local sum = v.part
              + rate * math.max(0, math.min(v.us - v.updated, 3000000))
  local to = v.serving + math.floor(sum / 1000000)
  local limit = math.max(v.next + (burst < 0 and rate or burst), v.serving)
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
           [REPLY.rate] = v.rate_in_force(),
           [REPLY.api_rate] = v.api_rate,
           [REPLY.changed] = v.changed,
           [REPLY.issue] = v.issue,
           [REPLY.lost] = v.lost,
           [REPLY.result] = result,
           [REPLY.at] = at }
end
