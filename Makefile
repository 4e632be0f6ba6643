# make                  build/ngx_http_admission_module.so for the installed
#                       NGINX (Debian, Ubuntu: package nginx-dev)
# make NGINX_SRC=DIR    the same for the NGINX whose sources are in DIR;
#                       NGINX_CONFIGURE_FLAGS as `nginx -V` of it prints them
# make install          into the modules directory of that NGINX (DESTDIR)
# make asan             build/asan/nginx and build/asan/*.so with sanitizers
# make fuzz             what reads bytes from outside, with random ones: see
#                       fuzz/README.md; FUZZ_TARGETS='token redis' some of it,
#                       FUZZ_SECONDS=600 each for so long
# make clean
# make V=1 ...          shows the commands
#
# CC, CFLAGS and LDFLAGS are used if set.  BUILD is the directory to build in.
# NGINX's own build does the compiling: the sources, the scripts and how they
# depend on each other are in `config` and `config.make`.

NGINX_DEV     = /usr/share/nginx/src
BUILD         = build
TARGETS       = modules
ADD           = --add-dynamic-module

# as demo.sh and test.sh have it: what one has built is not built once more

ifeq ($(origin CC),default)
CC            := $(if $(shell command -v gcc),gcc,cc)
endif

CFLAGS        ?= -g -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
LDFLAGS       ?= -Wl,-z,relro -Wl,-z,now

# -Werror comes from NGINX; given here it would break its feature tests

WARNINGS      = -Wall -Wextra -Wformat -Wformat-security -Wno-unused-parameter

SHELL         = /bin/bash
.SHELLFLAGS   = -e -o pipefail -c

ROOT          := $(CURDIR)
OUT           := $(abspath $(BUILD))
TREE          := $(OUT)/tree
OBJS          := $(OUT)/objs
NAME          := ngx_http_admission_module.so
MODULE        := $(OUT)/$(NAME)

ifdef NGINX_SRC
SOURCE        := $(abspath $(NGINX_SRC))
CONFIGURE     = --with-compat $(NGINX_CONFIGURE_FLAGS)
else
SOURCE        := $(NGINX_DEV)
CONFIGURE     = "$${NGX_CONF_FLAGS[@]}" $(NGINX_CONFIGURE_FLAGS)
endif

# whatever changes this text needs another ./configure

SUM           := $(firstword $(shell cat $(SOURCE)/conf_flags \
                     $(SOURCE)/src/*/*.h $(SOURCE)/src/*/*/*.h 2>/dev/null \
                     | cksum))
KEY           = $(SUM) $(SOURCE) $(CC) $(CFLAGS) $(WARNINGS) $(LDFLAGS) \
                $(CONFIGURE) $(sort $(wildcard $(foreach d,src src/*,$d/*.c $d/*.h) \
                lua/*.lua pages/*))

# those of the environment or the command line would replace NGINX's own
unexport CFLAGS LDFLAGS
MAKEOVERRIDES =


.PHONY: all objects install clean asan fuzz FORCE

all: $(MODULE)

objects: $(OUT)/configured
	@$(MAKE) $(if $(V),,-s) --no-print-directory -C $(TREE) \
	    -f $(OBJS)/Makefile $(TARGETS)

$(MODULE): objects
	@# never written in place: a running NGINX has it mapped
	@cmp -s $(OBJS)/$(NAME) $@ || { \
	    cp $(OBJS)/$(NAME) $@.tmp && mv $@.tmp $@ && echo "built $@"; }

# A tree of links stands for the sources: configure writes a Makefile next to
# itself, which has to stay out of /usr/share and out of the user's directory.
# Headers that come out of configure as they were keep their time, so that a
# new source file does not mean to compile all the others again.

$(OUT)/configured: $(OUT)/key config config.make
	@test -e $(SOURCE)/src/core/nginx.h || { \
	    echo "no NGINX in $(SOURCE): install nginx-dev, or set NGINX_SRC"; \
	    exit 1; } >&2
	@test "$$(cat $(OUT)/sum 2>/dev/null)" = $(SUM) || rm -rf $(OBJS)
	@rm -rf $(TREE) $(OUT)/headers
	@mkdir -p $(TREE) $(OBJS) $(OUT)/headers
	@ln -s $(SOURCE)/* $(TREE)
	@rm -rf $(TREE)/Makefile $(TREE)/objs
	@cp -p $(OBJS)/ngx_auto_*.h $(OUT)/headers 2>/dev/null || true
	@cd $(TREE); \
	test ! -e conf_flags || . ./conf_flags; \
	configure=./configure; test -x $$configure || configure=auto/configure; \
	$$configure $(CONFIGURE) --with-cc='$(CC)' \
	    --with-cc-opt='$(CFLAGS) -fPIC $(WARNINGS)' \
	    --with-ld-opt='$(LDFLAGS)' --builddir=$(OBJS) \
	    $(ADD)=$(ROOT) > $(OUT)/configure.log \
	    || { sed -n '/: error:/,$$p' $(OUT)/configure.log >&2; \
	         echo "see $(OUT)/configure.log and $(OBJS)/autoconf.err" >&2; \
	         exit 1; }
	@for header in $(OUT)/headers/*.h; do \
	    if test -e "$$header" && cmp -s "$$header" "$(OBJS)/$${header##*/}"; \
	    then cp -p "$$header" $(OBJS); fi; done
	@echo $(SUM) > $(OUT)/sum
	@touch $@

$(OUT)/key: FORCE
	@$(shell mkdir -p $(OUT))$(file > $@.tmp,$(KEY)) \
	if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi

# configure has worked out where modules go

install: all
	@dir=$$(sed -n 's|^.*(DESTDIR)\(.*\)/$(NAME).old.*$$|\1|p' \
	    $(OBJS)/Makefile); \
	install -d "$(DESTDIR)$$dir"; \
	cp $(MODULE) "$(DESTDIR)$$dir/$(NAME).tmp"; \
	mv "$(DESTDIR)$$dir/$(NAME).tmp" "$(DESTDIR)$$dir/$(NAME)"; \
	echo "installed $(DESTDIR)$$dir/$(NAME)"

clean:
	rm -rf $(OUT)


# NGINX and the module with AddressSanitizer and UndefinedBehaviorSanitizer.
# NGX_DEBUG_PALLOC makes every allocation from a pool one of its own, so that
# an overflow is seen.  The module stays loaded to the end (nodelete): what its
# globals point to is no leak, and reports can name its functions.

ASAN          = $(OUT)/asan
SANITIZERS    = -fsanitize=address,undefined
ASAN_CFLAGS   = -g -O1 $(SANITIZERS) -fno-omit-frame-pointer \
                -DNGX_DEBUG_PALLOC=1
ASAN_FLAGS    = --with-debug --with-http_v2_module --with-http_ssl_module \
                --with-http_realip_module --with-http_auth_request_module \
                --with-http_stub_status_module

# libasan has a crypt() that calls the one of libcrypt, so configure takes it to
# be in libc: linked here, or there is nothing to call (auth_basic would crash)

ASAN_LDFLAGS  = $(SANITIZERS) -Wl,-z,nodelete \
                -Wl,--push-state,--no-as-needed -lcrypt -Wl,--pop-state

asan:
	@.ci/nginx-source $(OUT)/nginx-src
	@$(MAKE) --no-print-directory BUILD=$(ASAN) NGINX_SRC=$(OUT)/nginx-src \
	    TARGETS='binary modules' CFLAGS='$(ASAN_CFLAGS)' \
	    LDFLAGS='$(ASAN_LDFLAGS)' \
	    NGINX_CONFIGURE_FLAGS='$(ASAN_FLAGS)'
	@cmp -s $(ASAN)/objs/nginx $(ASAN)/nginx || { \
	    cp $(ASAN)/objs/nginx $(ASAN)/nginx.tmp; \
	    mv $(ASAN)/nginx.tmp $(ASAN)/nginx; echo "built $(ASAN)/nginx"; }


# All of NGINX and the module in one file with libFuzzer, and with what is in
# fuzz/, which has NGINX's main() under another name.  What takes long to
# compile and finds nothing more is left out: HTTP modules that nobody needs
# there, and checks that AddressSanitizer has as well.

FUZZ          = $(OUT)/fuzz
FUZZ_TARGETS  = all
FUZZ_SECONDS  = 60
FUZZ_CFLAGS   = -gline-tables-only -O1 -fno-omit-frame-pointer \
                -fsanitize=fuzzer-no-link,address,undefined \
                -fno-sanitize=null,alignment,object-size,pointer-overflow \
                -DNGX_DEBUG_PALLOC=1
FUZZ_FLAGS    = --with-debug --with-http_ssl_module \
                --with-http_realip_module --http-log-path=/dev/null \
                $(addprefix --without-http_,$(addsuffix _module,charset ssi \
                userid auth_basic mirror autoindex geo split_clients referer \
                fastcgi uwsgi scgi grpc memcached limit_conn limit_req \
                empty_gif browser upstream_hash upstream_ip_hash \
                upstream_least_conn upstream_random upstream_keepalive \
                upstream_zone gzip))

fuzz:
	@.ci/nginx-source $(OUT)/nginx-src
	@$(MAKE) --no-print-directory BUILD=$(FUZZ) NGINX_SRC=$(OUT)/nginx-src \
	    CC=clang TARGETS=binary ADD=--add-module CFLAGS='$(FUZZ_CFLAGS)' \
	    LDFLAGS='$(SANITIZERS)' NGINX_CONFIGURE_FLAGS='$(FUZZ_FLAGS)' objects
	@$(MAKE) --no-print-directory -f fuzz/Makefile OUT=$(FUZZ) \
	    CFLAGS='$(FUZZ_CFLAGS)'
	@fuzz/run $(FUZZ) $(FUZZ_SECONDS) $(FUZZ_TARGETS)
