-- The line by rank, as steps of the schedule tell hosts for their views: its
-- head, and points behind that, scores of the line with their ranks, so near to
-- each other that a place between two is known well enough.
--
-- Who has a rank Redis finds from the top of its list, through memory that no
-- cache has: in a long line a look takes as long as 20 other commands.  So the
-- points are kept in KEY.view for all hosts, and carried on: scores stay, and
-- ranks change by who came and went before them.  A look at where a point is to
-- be by now tells the score there, which is a point as well, and from where that
-- one stood by the points before, by how much those around have moved.  Those
-- between two looks have moved by as much as these, each in its part; where the two
-- differ by too much there is another look between.
--
-- All are looked at in turn, within 2 s.  Between two such turns, whichever hosts
-- ask, a few looks say how far the line has gone, and nothing is written.

-- what a position may be off by: a part of the line, or so many
local PARTS, OFF = 1000, 10

-- as many points at most: all are looked up anew if there are more, or if so many
-- are missing; after so many looks there is one a point
local POINTS, MISSING, LOOKS = 1700, 64, 400

-- one of so many points is looked at in its turn, or so many of all without one
local TURNS, FEW = 4, 16

-- more than any number of these
local MOST = 2 ^ 53

-- ms between turns; s for which points are kept
local TURN, KEPT = 350, 5


function q.look(rank)
  local at = string.format('%d', rank)
  q.looks = q.looks + 1
  return call('ZRANGE', k.queue, at, at, 'WITHSCORES')[2] + 0
end

-- The points of before that are between the head and the last one, in w: scores,
-- ranks, by how much these may be off, and in which turn they are looked at.
-- shift: by how much ranks have changed, if nobody but the head has gone.  What is
-- not as keep_points writes it may raise an error.
function q.kept_points(w, kept)
  local age, turn = q.ms - kept[2], kept[4] + 0
  local shift = kept[3] - q.total
  if not (age >= 0 and age <= KEPT * 1000 and turn >= 0 and turn < MOST
          and math.abs(shift) < MOST)
  then
    return false
  end
  local list = cmsgpack.unpack(kept[5])
  local scores, ranks, offs, turns = w.score, w.rank, w.off, w.turns
  local low, high = w.low, w.high
  local score, rank, n = 0, 0, 0
  for i = 1, math.min(#list, 3 * POINTS), 3 do
    local by, on, off = list[i], list[i + 1], list[i + 2]
    if not (by > 0 and on > 0 and off >= 0 and off < MOST) then
      return false
    end
    score, rank = score + by, rank + on
    if score > low and score < high then
      n = n + 1
      scores[n], ranks[n] = score, rank
      turns[n] = off % TURNS
      offs[n] = (off - turns[n]) / TURNS
    end
  end
  if n == 0 or not (rank < MOST) then
    return false
  end
  scores[0], ranks[0] = low, w.from - shift
  scores[n + 1], ranks[n + 1] = high, w.to - shift
  w.n, w.age, w.turn, w.shift = n, age, turn, shift
  return true
end

function q.kept(w)
  local kept = q.by_the_way('HMGET', KEY.view, 'of', 'at', 'total', 'turn',
                            'points')
  if not kept or kept[1] ~= w.of then
    return false
  end
  local ok, is = pcall(q.kept_points, w, kept)
  return ok and is
end

-- Where a score stood when the points were kept, near the ith; nil: not there.
function q.stood(w, score, i)
  local from = i
  while score < w.score[i] do
    i = i - 1
    if i < 0 or from - i > TURNS then
      return nil
    end
  end
  while score >= w.score[i + 1] do
    i = i + 1
    if i > w.n or i - from > TURNS then
      return nil
    end
  end
  return w.rank[i] + (w.rank[i + 1] - w.rank[i]) * (score - w.score[i])
                     / (w.score[i + 1] - w.score[i])
end

-- Looks where the ith point is to be by now, until it is about that one.
function q.look_at(w, i, shift)
  local rank, score, stood
  for _ = 1, q.looks < LOOKS and 3 or 1 do
    rank = w.rank[i] + math.floor(shift + 0.5)
    rank = math.max(w.from + 1, math.min(w.to - 1, rank))
    score = q.look(rank)
    stood = q.stood(w, score, i)
    if not stood then
      return false
    end
    shift = rank - stood
    w.missed[i] = math.abs(stood - w.rank[i])
    if w.missed[i] <= w.near then
      break
    end
  end
  w.moved[i], w.is[i], w.by[i] = score, rank, 0
  w.stood[i], w.shifted[i] = stood, shift
  return true
end

-- The points between two that were looked at.
function q.carry_between(w, a, b)
  if w.is[b] <= w.is[a] or w.moved[b] <= w.moved[a] then
    return false
  end
  if b - a < 2 then
    return true
  end
  local by = math.abs(w.shifted[b] - w.shifted[a])
             + math.max(w.missed[a], w.missed[b])
  local off, most = w.off, 0
  for i = a + 1, b - 1 do
    if off[i] > most then
      most = off[i]
    end
  end
  if w.few and by > 2 * w.may then
    return false
  end
  if not w.few and most + by > w.may then
    local i = math.floor((a + b) / 2)
    return q.look_at(w, i, (w.shifted[a] + w.shifted[b]) / 2)
           and q.carry_between(w, a, i) and q.carry_between(w, i, b)
  end
  local score, rank, moved, is, offs = w.score, w.rank, w.moved, w.is, w.by
  local low, high, from, to = moved[a], moved[b], is[a], is[b]
  local part, stood = (to - from) / (w.stood[b] - w.stood[a]), w.stood[a]
  local floor = math.floor
  for i = a + 1, b - 1 do
    local now, at = floor(from + (rank[i] - stood) * part + 0.5), score[i]
    if now > from and now < to and at > low and at < high then
      moved[i], is[i], offs[i] = at, now, off[i] + by
    end
  end
  return true
end

-- Where the points are by now; false: too much has changed.
function q.carry_on(w, few)
  w.few = few
  w.moved, w.is, w.by, w.stood, w.shifted, w.missed = {}, {}, {}, {}, {}, {}
  local every = math.ceil(w.n / FEW)
  local turn, turns = w.turn % TURNS, w.turns
  local shift, last = w.shift, nil
  for i = 1, w.n do
    if i == 1 or i == w.n or few and i % every == 0
       or not few and turns[i] == turn
    then
      if not q.look_at(w, i, shift)
         or last and not q.carry_between(w, last, i)
      then
        return false
      end
      shift, last = w.shifted[i], i
    end
  end
  return true
end

-- Adds those of the points that are in order, and what is missing between them,
-- behind the head; not more than so many looks.  Who is new has the turn after
-- that of the point before.
function q.lay_points(w, points, ranks, off, looks)
  local exact, far, last, all = w.exact, w.far, w.to, w.n
  local moved, is, offs, turns = w.moved, w.is, w.by, w.turns
  local n, score, rank, turn = 0, w.low, w.from, 0
  for i = 1, #ranks do
    points[exact + i], ranks[i] = nil, nil
  end
  for i = 1, all + 1 do
    local next, to, by = moved[i], is[i], offs[i]
    if i > all then
      next, to, by = w.high, last, 0
    end
    if next and next > score and to > rank and (i > all or to < last) then
      if to - rank > far then
        local parts = math.ceil((to - rank) / w.share)
        looks = looks - parts + 1
        if looks < 0 then
          return false
        end
        for part = 1, parts - 1 do
          local at = rank + math.floor((to - rank) * part / parts + 0.5)
          local there = q.look(at)
          if there > score and there < next then
            n, turn = n + 1, (turn + 1) % TURNS
            points[exact + n], ranks[n], off[n] = there, at, turn
            score = there
          end
        end
      end
      n, turn = n + 1, turns[i] or turn
      points[exact + n], ranks[n] = next, to
      off[n] = math.ceil(by) * TURNS + turn
      score, rank = next, to
    end
  end
  return n <= POINTS
end

-- A turn writes some KB, twice a second: neither replicas nor the AOF need it.
-- A server that can't do without has it there as well.
function q.alone()
  redis.set_repl(redis.REPL_NONE)
end

function q.keep_points(w, points, ranks, off)
  local list, n, score, rank, exact = {}, 0, 0, 0, w.exact
  for i = 1, #ranks - 1 do
    local next, to = points[exact + i], ranks[i]
    list[n + 1], list[n + 2], list[n + 3] = next - score, to - rank, off[i]
    n, score, rank = n + 3, next, to
  end
  list = cmsgpack.pack(list)
  local alone = pcall(q.alone)
  if q.by_the_way('HSET', KEY.view, 'of', w.of, 'at', q.int(q.ms), 'total',
                  q.int(q.total), 'turn', q.int(w.turn + 1), 'points', list)
  then
    q.by_the_way('EXPIRE', KEY.view, KEPT)
  end
  if alone then
    redis.set_repl(redis.REPL_ALL)
  end
end

-- The scores of so many of the head, one by one, and of points behind them, of
-- whom the last is the last one of the line; the ranks of these, from 0, and how
-- many the head is.
function q.points(exact)
  local points, ranks, off = {}, {}, {}
  local head = call('ZRANGE', k.queue, 0, exact - 1, 'WITHSCORES')
  for i = 2, #head, 2 do
    points[i / 2] = head[i] + 0
  end
  exact = #points
  if q.size <= exact then
    return points, ranks, exact
  end

  local most = math.max(OFF, math.floor(q.size / PARTS))
  local far = math.floor(0.85 * most)
  local may = (most - far + 2) / 3
  local w = { of = q.int(q.epoch) .. ' ' .. q.int(q.clear),
              exact = exact, low = points[exact], from = exact - 1,
              high = call('ZRANGE', k.queue, -1, -1, 'WITHSCORES')[2] + 0,
              to = q.size - 1,
              far = far, share = math.floor(0.9 * far), may = may,
              near = may / 8,
              n = 0, turn = 0, score = {}, rank = {}, off = {}, turns = {} }
  q.looks = 0

  if q.kept(w) then
    if w.age < TURN and q.carry_on(w, true)
       and q.lay_points(w, points, ranks, off, MISSING)
    then
      return points, ranks, exact
    end
    if q.carry_on(w, false)
       and q.lay_points(w, points, ranks, off, MISSING)
    then
      q.keep_points(w, points, ranks, off)
      return points, ranks, exact
    end
  end

  w.n, w.moved, w.is, w.by, w.turns = 0, {}, {}, {}, {}
  q.lay_points(w, points, ranks, off, q.size)
  q.keep_points(w, points, ranks, off)
  return points, ranks, exact
end
