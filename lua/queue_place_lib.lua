-- Which places count, and where their holders stand by them: of q.user, who
-- shows an entry token of q.e_adm (0: none).  And how who is in stays so.

-- A brief event's data goes when nobody is left in it, and who left goes with
-- it: a place of an earlier epoch may be anybody's.  People who were in line
-- when data was lost have places that are not as old.
function q.is_faded(at, epoch)
  return q.brief and epoch ~= q.epoch
         and (q.epoch ~= 0 and q.epoch or q.now()) - at > 600000000
end

-- A place counts if it was issued since its user was last let in (and came) or
-- left, and since the queue was last cleared.  A place of an earlier epoch
-- tells of a loss of data.
function q.place_counts(at, epoch, done)
  q.clock = math.max(q.clock, at <= q.far and at or 0)
  if at <= done or at <= q.clear or at <= q.e_adm or at > q.far
     or q.is_faded(at, epoch)
  then
    return false
  end
  if epoch ~= q.epoch then
    q.live()
    if at < q.epoch and q.us - q.epoch < q.restore_wait * 1000 then
      q.begin_restore()
    end
  end
  q.hear_time(at)
  return true
end

-- No two users share a score: a tie would leave the order to the alphabet.
function q.free_score(score)
  for _ = 1, 16 do
    local s = q.int(score)
    local holder = call('ZRANGEBYSCORE', k.queue, s, s, 'LIMIT', 0, 1)[1]
    if not holder or holder == q.user then
      break
    end
    score = score + 2
  end
  return score
end

-- A user stands further ahead than before: hosts have to ask about places that
-- say otherwise.
function q.note_moved(user)
  call('ZADD', k.moved, q.int(q.tick()), user)
  q.touch(k.moved)
end

-- A user who is in is heard of, and so has come: the session is renewed.
-- Returns when the user was let in, and the new end; nil: the session is over.
function q.renew(user, ends)
  local adm = (call('ZSCORE', k.admitted, user) or q.now()) + 0
  if adm > q.far then
    adm = q.now()
  end
  local cap = q.session_end(adm)
  if q.paused or q.stands(adm) then
    cap = math.max(cap, q.ms + PAUSE)
  end
  if q.ms >= cap then
    q.try()
    q.expire_active(user)
    return nil
  end
  -- never less than before, even if the configuration's time is: tokens are
  -- out
  local expires = math.max(math.min(q.ms + q.active_ttl, cap), ends)
  q.add_active(user, expires)
  call('ZADD', k.active_seen, q.int(q.ms), user)
  call('ZREM', k.leaving, user)
  if q.done(user) < adm then
    call('ZADD', k.done, q.int(q.tick()), user)
    q.touch(k.active_seen, k.done)
  end
  return adm, expires
end
