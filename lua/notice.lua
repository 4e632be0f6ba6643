-- An operator's notice to those who wait for an event, or are in it: a record.
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

-- @include record_lib.lua

local known = call('HMGET', KEY.notice, 'version', 'at', 'ko', 'en')
local version, at = (known[1] or 0) + 0, (known[2] or 0) + 0
local ko, en = known[3] or '', known[4] or ''
local changed = record.is_later(version)

if changed then
  version, at = ARG.host_version + 0, ARG.host_at + 0
  ko, en = ARG.host_ko, ARG.host_en
end

if ARG.what == 'set' then
  version, changed = record.after(version), true
  at, ko, en = time[1] + 0, ARG.ko, ARG.en

elseif ARG.what == 'unset' and at > 0 then
  version, changed = record.after(version), true
  at, ko, en = 0, '', ''
end

if changed then
  record.keep(KEY.notice, at > 0, 'version', record.text(version), 'at',
              record.text(at), 'ko', ko, 'en', en)
end

return { [REPLY.version] = version,
         [REPLY.at] = at,
         [REPLY.ko] = ko,
         [REPLY.en] = en,
         [REPLY.us] = us }
