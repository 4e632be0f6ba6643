-- The times of a sale, as an operator sets them in the place of those of the
-- configuration: a record.
--
-- what: look, set (to opens, starts and closes, us of Redis; 0: there is none),
-- unset (those of the configuration count)
-- args: what opens starts closes
--
-- What the host that calls knows; host_version 0: nothing; host_opens -1: they
-- were unset.
-- args: host_version host_opens host_starts host_closes
--
-- version: when they were set or unset, us of Redis, later than any before; 0:
-- never; opens -1: they are not set.
--
-- refused: 1 if nothing was changed, since the lots of the waiting room have been
-- counted: when it opened and started is a part of the draw.  The times of the
-- configuration, likewise.
-- args: conf_opens conf_starts
-- keys: schedule vwr
-- reply: version opens starts closes us refused

-- @include record_lib.lua

local known = call('HMGET', KEY.schedule, 'version', 'opens', 'starts', 'closes')
local version, opens = (known[1] or 0) + 0, (known[2] or -1) + 0
local starts, closes = (known[3] or 0) + 0, (known[4] or 0) + 0
local changed = record.is_later(version)

if changed then
  version, opens = ARG.host_version + 0, ARG.host_opens + 0
  starts, closes = ARG.host_starts + 0, ARG.host_closes + 0
end

-- the times that count until now, and that would count from now on
local function moves()
  local room = call('HMGET', KEY.vwr, 'activation', 'draw_of', 'drawn', 'active')
  if room[4] ~= '1' or not room[1] or room[1] ~= room[2]
     or (room[3] or '0') == '0'
  then
    return false
  end
  local from, at = ARG.conf_opens, ARG.conf_starts
  if opens >= 0 then
    from, at = opens, starts
  end
  local to_from, to_at = ARG.opens, ARG.starts
  if ARG.what == 'unset' then
    to_from, to_at = ARG.conf_opens, ARG.conf_starts
  end
  return from + 0 ~= to_from + 0 or at + 0 ~= to_at + 0
end

local refused = 0

if ARG.what ~= 'look' and moves() then
  refused = 1

elseif ARG.what == 'set' then
  version, changed = record.after(version), true
  opens, starts, closes = ARG.opens + 0, ARG.starts + 0, ARG.closes + 0

elseif ARG.what == 'unset' and opens >= 0 then
  version, changed = record.after(version), true
  opens, starts, closes = -1, 0, 0
end

if changed then
  local n = record.text
  record.keep(KEY.schedule, opens >= 0, 'version', n(version), 'opens', n(opens),
              'starts', n(starts), 'closes', n(closes))
end

return { [REPLY.version] = version,
         [REPLY.opens] = opens,
         [REPLY.starts] = starts,
         [REPLY.closes] = closes,
         [REPLY.us] = us,
         [REPLY.refused] = refused }
