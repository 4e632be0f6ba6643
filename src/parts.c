
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The parts of the zone and of the schedule, and the records of events.  Parts
 * of the zone are made, emptied and copied in this order: in a smaller zone
 * there is room for what is copied first.  So it is with records.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "host/bucket.h"
#include "host/category.h"
#include "host/comers.h"
#include "host/doubt.h"
#include "host/draw.h"
#include "host/event_known.h"
#include "host/event_node.h"
#include "host/event_work.h"
#include "host/follow.h"
#include "host/follow_steps.h"
#include "host/gone.h"
#include "host/hold.h"
#include "host/idempotency.h"
#include "host/keys.h"
#include "host/lease.h"
#include "host/line.h"
#include "host/needs.h"
#include "host/notice.h"
#include "host/range.h"
#include "host/record.h"
#include "host/revoked.h"
#include "host/room_list.h"
#include "host/room_state.h"
#include "host/sale.h"
#include "host/schedule.h"
#include "host/shares.h"
#include "host/standby.h"
#include "host/streams.h"
#include "host/stripe.h"
#include "host/tally.h"
#include "host/there.h"
#include "host/touch.h"
#include "host/unlisted.h"
#include "host/view.h"
#include "host/zone.h"
#include "limit/fallback.h"
#include "limit/local.h"
#include "parts.h"
#include "queue/news.h"
#include "queue/steps.h"
#include "room/opening.h"
#include "room/schedule.h"


static ngx_adm_zone_part_t  *ngx_adm_all_parts[] = {
    &ngx_adm_touch_part,
    &ngx_adm_lease_part,
    &ngx_adm_needs_part,

    /* an event without room may have been about a revocation */
    &ngx_adm_doubt_part,

    /* events, and what each may have */
    &ngx_adm_events_part,
    &ngx_adm_work_part,
    &ngx_adm_known_part,
    &ngx_adm_tally_part,
    &ngx_adm_unlisted_part,
    &ngx_adm_there_part,
    &ngx_adm_room_part,
    &ngx_adm_comers_part,
    &ngx_adm_rooms_part,
    &ngx_adm_line_part,
    &ngx_adm_record_part,
    &ngx_adm_follow_part,
    &ngx_adm_view_part,
    &ngx_adm_gone_part,
    &ngx_adm_range_part,
    &ngx_adm_standby_part,

    &ngx_adm_shares_part,
    &ngx_adm_revoked_part,
    &ngx_adm_category_part,
    &ngx_adm_fallback_part,
    &ngx_adm_windows_part,
    &ngx_adm_buckets_part,
    &ngx_adm_answers_part,
    &ngx_adm_keys_part,
    &ngx_adm_key_files_part,
    &ngx_adm_streams_part,

    /* last, with what others counted during the copies */
    &ngx_adm_stripe_part,
    NULL };

_Static_assert(sizeof(ngx_adm_all_parts)
               / sizeof(ngx_adm_all_parts[0]) - 1
               <= NGX_ADM_ZONE_PARTS, "more parts than NGX_ADM_ZONE_PARTS");


static ngx_adm_record_t  *ngx_adm_all_records[] = {
    &ngx_adm_notice_record,
    &ngx_adm_hold_record,
    &ngx_adm_sale_record,
    &ngx_adm_draw_record,
    NULL };


_Static_assert(sizeof(ngx_adm_all_records)
               / sizeof(ngx_adm_all_records[0]) - 1
               <= NGX_ADM_RECORDS, "more records than NGX_ADM_RECORDS");


/* news come before the steps that they ask for */

static ngx_adm_schedule_part_t  *ngx_adm_turns[] = {
    &ngx_adm_queue_news_part,
    &ngx_adm_queue_steps_part,
    &ngx_adm_room_schedule_part,
    &ngx_adm_room_opening_part,
    &ngx_adm_follow_schedule_part,
    &ngx_adm_needs_schedule_part,
    NULL };


void
ngx_adm_parts_init(void)
{
    ngx_adm_zone_list(ngx_adm_all_parts);
    ngx_adm_record_list(ngx_adm_all_records);
    ngx_adm_schedule_list(ngx_adm_turns);
}
