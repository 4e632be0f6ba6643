-- What time it is for Redis (us, ms), and which times can't be right.  A Redis
-- whose clock is more than a day from the host's does nothing.

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local far = us + 86400000000

if ARG.wall ~= '0' and math.abs(ms - ARG.wall) > 86400000 then
  return redis.error_reply("ERR the time of Redis, " .. time[1]
                           .. ", is more than a day from the host's")
end

-- a time that somebody tells; 0: it can't be right
local function told(t)
  t = (t or 0) + 0
  return t <= far and t or 0
end
