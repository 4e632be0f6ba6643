-- A room on standby is unseen while fewer visitors come than its rate, and
-- nobody waits.  What the counter is ahead of the last position issued is how
-- many may still come, and no more than the burst: a host has some of these
-- positions granted, and lets so many in without a ticket.  So whoever gets a
-- ticket meanwhile, and hosts that know of no standby, draw on the same.
--
-- In {E}:vwr, of the activation seen_of: seen, us of Redis, since when it shows,
-- 0: it does not; calm, since when nobody has waited and no more came than the
-- rate; came, how many did, in thousandths, less the rate, until came_at;
-- given_back, how many of the positions issued hosts gave back, to be granted
-- again.

local CALM = 10000000

local s = {}

-- Before the counter moves: those ahead of it wait.
function v.standby_look()
  if ARG.standby ~= '1' or v.active == 0 then
    return
  end
  local f = call('HMGET', k.vwr, 'seen_of', 'seen', 'calm', 'given_back', 'came',
                 'came_at')
  s.on, s.was = true, f
  s.seen, s.calm = told(f[2]), told(f[3])
  s.given_back, s.came, s.came_at = (f[4] or 0) + 0, (f[5] or 0) + 0, told(f[6])
  s.rate = math.ceil(v.rate_in_force())
  s.burst = v.burst()

  if f[1] ~= v.int(v.activation) then
    s.given_back = 0
    if ARG.host_seen == '0' and host.activation == v.activation
       and v.ms - v.restored < 10000 and not v.waits()
    then
      -- positions that were skipped after a loss of data are nobody's; those
      -- that were issued since, and are measured, are somebody's
      v.serving = math.max(v.serving, math.min(v.next, v.issue_next)
                                      + math.max(host.serving - host.next, 0))
    elseif v.serving >= v.next and not v.waits() then
      -- the first visitor is not over the rate
      v.serving = math.max(v.serving, v.next + s.burst)
    end
    s.seen = v.next > v.serving and v.us or 0
    s.calm = s.seen
  end

  s.waited = v.next > v.serving or v.waits()
end

-- Whether more come than the rate, all of them counted, with a ticket or
-- without.
local function is_flood()
  local past = math.max(v.us - s.came_at, 0) * v.rate_in_force() / 1000
  local most = s.burst * 1000
  s.came = math.max(s.came - math.floor(past), 0) + ARG.wanting * 1000
  s.came_at = v.us
  local over = s.came > most
  -- by how much does not matter once it is over
  s.came = math.min(s.came, most)
  return over
end

-- After the counter has moved: whether the room shows, and how many positions
-- the host gets.
function v.standby_grant()
  if not s.on then
    return 0, 0
  end
  local granted = 0

  if s.seen > 0 then
    if is_flood() or s.waited or v.us < s.calm then
      s.calm = v.us
    elseif v.us - s.calm >= CALM then
      s.seen = 0
    end
  elseif s.waited then
    s.seen, s.calm = v.us, v.us
  end

  if s.seen > 0 then
    s.given_back = 0
  else
    s.came = 0
    local rate = s.rate
    local ahead = math.max(v.serving - v.next, 0)
    local most = math.max(math.ceil(rate / 4) - ARG.have, 0)

    s.given_back = math.min(s.given_back + math.min(ARG.back + 0, rate),
                            math.max(s.burst - ahead, 0))
    ahead = rate > 0 and ahead + s.given_back or 0

    -- people who are there go before those who may come: what a host has in
    -- hand leaves half of the burst to the others
    granted = math.min(ARG.wanting + 0, ahead, most)
    if ARG.wanting + 0 > ahead then
      s.seen, s.calm = v.us, v.us
    else
      local left = ahead - granted - math.ceil(s.burst / 2)
      granted = granted + math.max(math.min(ARG.spare + 0, most - granted,
                                            left), 0)
    end

    local again = math.min(granted, s.given_back)
    s.given_back = s.seen > 0 and 0 or s.given_back - again
    v.next = v.next + granted - again
  end

  -- in an idle room nothing changes
  local args = {}
  for i, field in ipairs({ 'seen_of', 'seen', 'calm', 'given_back', 'came',
                           'came_at' })
  do
    local value = v.int(i == 1 and v.activation or s[field])
    if value ~= s.was[i] then
      args[#args + 1] = field
      args[#args + 1] = value
    end
  end
  if #args > 0 or v.int(v.next) ~= h[2] then
    call('HSET', k.vwr, 'next', v.int(v.next), unpack(args))
  end
  return s.seen, granted
end
