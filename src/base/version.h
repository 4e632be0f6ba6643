
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The version of the module, which NGINX's log tells at each start, and so do
 * /metrics and `strings` of the file.  CHANGELOG.md and debian/changelog begin
 * with the same one.
 */


#ifndef _NGX_ADM_BASE_VERSION_H_INCLUDED_
#define _NGX_ADM_BASE_VERSION_H_INCLUDED_


#define NGX_ADM_VERSION  "0.9.0"


#endif /* _NGX_ADM_BASE_VERSION_H_INCLUDED_ */
