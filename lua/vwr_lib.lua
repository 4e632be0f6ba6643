-- What the scripts of the waiting room share; put in front of each of them.
--
-- The event's clock (us) dates activations, changes and tickets, as it does
-- for the queue: see queue_lib.lua.  Plain Redis time moves the counter.
--
-- What an operator decides (active, set_by, api_rate) is as of `changed`, a
-- time of that clock: the latest decision that anybody knows stands.  The
-- counters are those of `activation`, and never go back within it.

local k = { vwr = KEYS[1], state = KEYS[2], epoch = KEYS[3] }

local WEEK = 604800

local call = redis.call

local time = call('TIME')
local h = call('HMGET', k.vwr, 'active', 'next', 'serving', 'part',
               'activation', 'changed', 'updated', 'set_by', 'api_rate',
               'issue', 'issue_next', 'issue_at', 'restored', 'touched',
               'began', 'dead')

local v = {
  us = time[1] * 1000000 + time[2],
  ms = time[1] * 1000 + math.floor(time[2] / 1000),

  clock = math.max((call('HGET', k.state, 'clock') or 0) + 0, ARGV[3] + 0),

  active = (h[1] or 0) + 0,
  next = (h[2] or 0) + 0,           -- the last position issued
  serving = (h[3] or 0) + 0,
  part = (h[4] or 0) + 0,           -- of the next one, in millionths
  activation = (h[5] or 0) + 0,     -- us; 0: never activated
  changed = (h[6] or 0) + 0,        -- us
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

-- what the host that calls knows
local host = {
  activation = ARGV[4] + 0, next = ARGV[5] + 0, serving = ARGV[6] + 0,
  active = ARGV[7] + 0, set_by = ARGV[8], api_rate = ARGV[9] + 0,
  changed = ARGV[10] + 0, issue = ARGV[11] + 0,
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

function v.touch()
  v.touched = v.ms
  v.write('touched')
  call('EXPIRE', k.state, WEEK)
  call('EXPIRE', k.epoch, WEEK)
  if v.active == 1 then
    call('PERSIST', k.vwr)
  else
    call('EXPIRE', k.vwr, WEEK)
  end
end

function v.save()
  v.rate = v.rate_in_force()
  v.write('active', 'next', 'serving', 'part', 'rate', 'activation',
          'changed', 'updated', 'set_by', 'api_rate', 'issue', 'issue_next',
          'issue_at', 'restored', 'began', 'dead')
  v.touch()
end

-- a second
function v.rate_in_force()
  return v.api_rate >= 0 and v.api_rate or ARGV[1] + 0
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

-- Who knows more than is here tells of a loss of data.
function v.hear_host()
  v.hear_earlier()

  local older = host.activation > v.activation and host.activation ~= v.dead
  local behind = older or host.activation == v.activation
                          and (host.next > v.next or host.serving > v.serving)

  if not behind and host.changed <= v.changed then
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
  local burst = ARGV[2] + 0
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

function v.reply(...)
  return { v.us, v.now(), v.active, v.set_by == 'config' and 1 or 0,
           v.activation, v.next, v.serving, v.rate_in_force(), v.api_rate,
           v.changed, v.issue, v.lost, ... }
end
