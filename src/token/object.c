
/*
 * Copyright (C) 2026 the admission module authors
 *
 * A reader of flat objects that gives up on anything not plain, and jansson
 * behind it.  Both say the same of the same object.
 */


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/reason.h"
#include "../base/text.h"
#include "object.h"


#define NGX_ADM_OBJECT_DIGITS  18    /* that fit into an int64_t */
#define NGX_ADM_OBJECT_PATH    256   /* bytes, with a null */


static json_t *ngx_adm_object_walk(json_t *json, ngx_str_t *path);
static ngx_int_t ngx_adm_object_flat(ngx_adm_object_t *object, u_char *p,
    u_char *last);
static u_char *ngx_adm_object_string(u_char *p, u_char *last,
    ngx_str_t *string);
static u_char *ngx_adm_object_integer(u_char *p, u_char *last,
    int64_t *integer);
static ngx_adm_member_t *ngx_adm_object_member(ngx_adm_object_t *object,
    ngx_str_t *name);


const char *
ngx_adm_object_read(ngx_adm_object_t *object, u_char *data, size_t len)
{
    json_error_t  error;

    object->json = NULL;

    if (ngx_adm_object_flat(object, data, data + len) == NGX_OK) {
        return NULL;
    }

    /*
     * jansson itself refuses invalid UTF-8, \u0000, anything after the value
     * and depths over 2048
     */

    object->json = json_loadb((char *) data, len,
                              JSON_REJECT_DUPLICATES|JSON_DECODE_ANY, &error);
    if (object->json == NULL) {
        return ngx_adm_reason(JSON);
    }

    if (!json_is_object(object->json)) {
        json_decref(object->json);
        return ngx_adm_reason(OBJECT);
    }

    return NULL;
}


void
ngx_adm_object_free(ngx_adm_object_t *object)
{
    json_decref(object->json);
}


void
ngx_adm_object_get(ngx_adm_object_t *object, ngx_str_t *name,
    ngx_adm_value_t *value)
{
    ngx_adm_member_t  *member;

    if (object->json) {
        ngx_adm_object_value(json_object_get(object->json, (char *) name->data),
                             value);
        return;
    }

    member = ngx_adm_object_member(object, name);

    if (member) {
        *value = member->value;

    } else {
        value->type = NGX_ADM_VALUE_NONE;
    }
}


void
ngx_adm_object_find(ngx_adm_object_t *object, ngx_str_t *path,
    ngx_adm_value_t *value)
{
    ngx_adm_object_get(object, path, value);

    if (value->type == NGX_ADM_VALUE_NONE && object->json
        && path->len < NGX_ADM_OBJECT_PATH)
    {
        ngx_adm_object_value(ngx_adm_object_walk(object->json, path), value);
    }
}


/*
 * Splits the path at each dot in turn, since names of claims may be addresses,
 * which have dots themselves.
 */

static json_t *
ngx_adm_object_walk(json_t *json, ngx_str_t *path)
{
    char        name[NGX_ADM_OBJECT_PATH];
    json_t     *found;
    ngx_str_t   rest;
    ngx_uint_t  i;

    ngx_memcpy(name, path->data, path->len);
    name[path->len] = '\0';

    found = json_object_get(json, name);

    for (i = 1; found == NULL && i < path->len; i++) {

        if (name[i] != '.') {
            continue;
        }

        name[i] = '\0';
        found = json_object_get(json, name);
        name[i] = '.';

        if (found) {
            rest.data = path->data + i + 1;
            rest.len = path->len - i - 1;

            found = ngx_adm_object_walk(found, &rest);
        }
    }

    return found;
}


void
ngx_adm_object_value(json_t *json, ngx_adm_value_t *value)
{
    value->type = NGX_ADM_VALUE_NONE;

    if (json == NULL) {
        return;
    }

    switch (json_typeof(json)) {

    case JSON_STRING:
        value->type = NGX_ADM_VALUE_STRING;
        value->string.data = (u_char *) json_string_value(json);
        value->string.len = json_string_length(json);
        break;

    case JSON_INTEGER:
        value->type = NGX_ADM_VALUE_INTEGER;
        value->integer = json_integer_value(json);
        break;

    case JSON_REAL:
        value->type = NGX_ADM_VALUE_REAL;
        value->real = json_real_value(json);
        break;

    case JSON_NULL:
        value->type = NGX_ADM_VALUE_NULL;
        break;

    default:
        value->type = NGX_ADM_VALUE_OTHER;
        value->json = json;
        break;
    }
}


/* NGX_DECLINED: the object is not flat, or not right */

static ngx_int_t
ngx_adm_object_flat(ngx_adm_object_t *object, u_char *p, u_char *last)
{
    ngx_str_t          name;
    ngx_adm_member_t  *member;

    object->n = 0;

    if (p == last || *p != '{') {
        return NGX_DECLINED;
    }

    do {
        p = ngx_adm_object_string(p + 1, last, &name);

        if (p == NULL || p == last || *p++ != ':'
            || object->n == NGX_ADM_OBJECT_FLAT
            || ngx_adm_object_member(object, &name))
        {
            return NGX_DECLINED;
        }

        member = &object->members[object->n++];
        member->name = name;

        if (p < last && *p == '"') {
            member->value.type = NGX_ADM_VALUE_STRING;
            p = ngx_adm_object_string(p, last, &member->value.string);

        } else {
            member->value.type = NGX_ADM_VALUE_INTEGER;
            p = ngx_adm_object_integer(p, last, &member->value.integer);
        }

        if (p == NULL || p == last) {
            return NGX_DECLINED;
        }

    } while (*p == ',');

    return (*p == '}' && p + 1 == last) ? NGX_OK : NGX_DECLINED;
}


/* returns what follows, NULL if there is no plain string at p */

static u_char *
ngx_adm_object_string(u_char *p, u_char *last, ngx_str_t *string)
{
    if (p == last || *p != '"') {
        return NULL;
    }

    string->data = ++p;

    for ( /* void */ ; p < last; p++) {

        if (*p == '"') {
            string->len = p - string->data;
            return p + 1;
        }

        if (*p < 0x20 || *p > 0x7e || *p == '\\') {
            return NULL;
        }
    }

    return NULL;
}


/* returns what follows, NULL if there is no integer of a usual size at p */

static u_char *
ngx_adm_object_integer(u_char *p, u_char *last, int64_t *integer)
{
    u_char   *first;
    int64_t   n;

    first = p;
    n = 0;

    for ( /* void */ ; p < last && *p >= '0' && *p <= '9'; p++) {

        if (p - first == NGX_ADM_OBJECT_DIGITS) {
            return NULL;
        }

        n = n * 10 + (*p - '0');
    }

    /* JSON has no leading zeros */

    if (p == first || (*first == '0' && p - first > 1)) {
        return NULL;
    }

    *integer = n;

    return p;
}


static ngx_adm_member_t *
ngx_adm_object_member(ngx_adm_object_t *object, ngx_str_t *name)
{
    ngx_uint_t         i;
    ngx_adm_member_t  *member;

    for (i = 0; i < object->n; i++) {
        member = &object->members[i];

        if (ngx_adm_str_same(&member->name, name)) {
            return member;
        }
    }

    return NULL;
}
