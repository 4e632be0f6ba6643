# The Redis scripts become a header, made when a script changes, or the list
# of them, which is in the makefile.  In a dynamic and in a static build the
# object has the same name.

ngx_admission_lua_h=$NGX_OBJS/ngx_http_admission_lua.h
ngx_admission_lua=`LC_ALL=C ls $ngx_addon_dir/lua/*.lua 2>/dev/null`
ngx_admission_lua=`echo $ngx_admission_lua`

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/addon/src/ngx_http_admission_script.o:	$ngx_admission_lua_h

$ngx_admission_lua_h:	$NGX_MAKEFILE $ngx_addon_dir/lua/embed.sh $ngx_admission_lua
	sh $ngx_addon_dir/lua/embed.sh $ngx_admission_lua > $ngx_admission_lua_h.tmp
	mv $ngx_admission_lua_h.tmp $ngx_admission_lua_h

END

# The pages that people wait on, likewise.

ngx_admission_pages_h=$NGX_OBJS/ngx_http_admission_pages.h
ngx_admission_pages=`LC_ALL=C ls $ngx_addon_dir/pages/*`
ngx_admission_pages=`echo $ngx_admission_pages`

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/addon/src/ngx_http_admission_page_conf.o:	$ngx_admission_pages_h

$ngx_admission_pages_h:	$NGX_MAKEFILE $ngx_admission_pages
	sh $ngx_addon_dir/pages/embed.sh $ngx_addon_dir/pages/*.html > $ngx_admission_pages_h.tmp
	mv $ngx_admission_pages_h.tmp $ngx_admission_pages_h

END
