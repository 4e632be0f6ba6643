-- What the scripts of records have in common: of what was set of an event the
-- latest that anybody knows stands, by its version, us of Redis, so that it
-- outlives a loss of data.

local call = redis.call

local time = call('TIME')
local us = time[1] * 1000000 + time[2]

-- a version that lies in the future by more is not believed
local FAR = us + 86400000000

local WEEK = 604800

local record = {}

function record.text(number)
  return string.format('%.0f', number)
end

-- whether the host that calls knows a later version than this
function record.is_later(version)
  local host = ARG.host_version + 0
  return host > version and host <= FAR
end

-- the version of what is set, or unset, now: later than that before it
function record.after(version)
  return math.max(us, version + 1)
end

-- a record that ended is kept for a while, for hosts that have not heard of it
function record.keep(key, stands, ...)
  call('HSET', key, ...)
  if stands then
    call('PERSIST', key)
  else
    call('EXPIRE', key, WEEK)
  end
end
