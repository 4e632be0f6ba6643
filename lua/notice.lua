-- A word of an operator's to those who wait for an event, or are in it, and what
-- hosts know of it: the latest that anybody knows stands, so that it outlives a
-- loss of data.
--
-- what: look, set (to ko and en, of which one may be empty), unset
-- args: what ko en
--
-- What the host that calls knows; host_version 0: nothing.
-- args: host_version host_at host_ko host_en
--
-- version: when it was set or ended, us of Redis, later than any before; at: when
-- it was set, s, 0: there is none.
-- keys: notice
-- reply: version at ko en us

local key, call = KEY.notice, redis.call

local WEEK = 604800

local time = call('TIME')
local us = time[1] * 1000000 + time[2]

local known = call('HMGET', key, 'version', 'at', 'ko', 'en')
local version, at = (known[1] or 0) + 0, (known[2] or 0) + 0
local ko, en = known[3] or '', known[4] or ''
local changed = false

-- a version of a time that can't be is not believed
local host = ARG.host_version + 0
if host > version and host <= us + 86400000000 then
  version, at, ko, en = host, ARG.host_at + 0, ARG.host_ko, ARG.host_en
  changed = true
end

if ARG.what == 'set' then
  version = math.max(us, version + 1)
  at, ko, en = time[1] + 0, ARG.ko, ARG.en
  changed = true

elseif ARG.what == 'unset' and at > 0 then
  version = math.max(us, version + 1)
  at, ko, en = 0, '', ''
  changed = true
end

-- that it ended is kept for a while, for hosts that have not heard of that
if changed then
  call('HSET', key, 'version', string.format('%.0f', version), 'at',
       string.format('%.0f', at), 'ko', ko, 'en', en)
  if at > 0 then
    call('PERSIST', key)
  else
    call('EXPIRE', key, WEEK)
  end
end

return { [REPLY.version] = version,
         [REPLY.at] = at,
         [REPLY.ko] = ko,
         [REPLY.en] = en,
         [REPLY.us] = us }
