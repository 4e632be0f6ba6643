-- An operator holds an event, or lets it go: while it is held nobody is let in, in
-- both tiers, and if that is asked for those inside do not pass the gate either,
-- while their sessions stand still.  A record.
--
-- what: look, set (inside 1: those inside too), unset
-- args: what inside
--
-- Of the configuration, ms.
-- args: active_ttl session_max
--
-- What the host that calls knows; host_version 0: nothing.  held: 0 it is not, 1
-- those outside are, 2 those inside too.
-- args: host_version host_held host_since
--
-- version: when it was held or let go, us of the event's clock, later than any
-- before; since: when it began, s; 0: it is not held.
-- keys: hold state
-- reply: version held since us
--
-- Other scripts read of the state: hold; and still, up to when no session ends
-- of those who were in up to still_at.

-- @include record_lib.lua

local state, n = KEY.state, record.text
local ms = math.floor(us / 1000)

local known = call('HMGET', KEY.hold, 'version', 'held', 'since', 'still')
local version, held = (known[1] or 0) + 0, (known[2] or 0) + 0
local since, still = (known[3] or 0) + 0, (known[4] or 0) + 0

if version > FAR then
  version = 0
end

local changed = record.is_later(version)

if changed then
  version, held = ARG.host_version + 0, ARG.host_held + 0
  since = ARG.host_since + 0
  still = held == 2 and since * 1000 or 0
end

local to = ARG.what == 'set' and (ARG.inside == '1' and 2 or 1)
           or ARG.what == 'unset' and 0 or held

if to ~= held then
  version, changed = record.after(version), true
  since = to > 0 and (held > 0 and since or time[1] + 0) or 0

  if to == 2 then
    still = ms

  elseif held == 2 then
    -- those inside go on: the hold is not charged to their sessions
    local st = call('HMGET', state, 'clock', 'slack', 'slack_at')
    local clock = math.max(us, (st[1] or 0) + 0)
    local at = (st[3] or 0) + 0
    local slack = math.max(ms - still, 0)
    if clock <= FAR and at <= clock
       and at > clock - (ARG.session_max + 0) * 1000
    then
      slack = slack + (st[2] or 0)
    end
    if clock > FAR then
      clock = us
    end
    call('HSET', state, 'still', n(ms + ARG.active_ttl), 'still_at', n(clock),
         'slack', n(slack), 'slack_at', n(clock))
    still = 0
  end
  held = to
end

if changed then
  record.keep(KEY.hold, held > 0, 'version', n(version), 'held', n(held),
              'since', n(since), 'still', n(still))
end

if held > 0 then
  call('HSET', state, 'hold', n(held))
  call('PERSIST', state)
elseif call('HDEL', state, 'hold') == 1 then
  call('EXPIRE', state, WEEK)
end

return { [REPLY.version] = version,
         [REPLY.held] = held,
         [REPLY.since] = since,
         [REPLY.us] = us }
