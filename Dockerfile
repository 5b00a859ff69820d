# The image of passageway: the server with every bundled connector and embedder, and the default model.
#
#   docker build -t passageway .
#
# Another base is a build argument: any image with Python 3.11 or newer, venv, pip and ca-certificates.
ARG BASE_IMAGE=docker.io/library/python:3.13-slim-bookworm


# uv, with the hash of every file. PIP_INDEX_URL and UV_DEFAULT_INDEX name a mirror; no later stage keeps them.
FROM ${BASE_IMAGE} AS tools
ARG PIP_INDEX_URL UV_DEFAULT_INDEX
ENV UV_NO_CACHE=1 UV_NO_CONFIG=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
WORKDIR /src
COPY requirements-uv.lock ./
RUN python3 -m venv /tools \
 && /tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
ENV PATH=/tools/bin:$PATH


# What other people wrote, without what only their own tests, tools and compilers read.
FROM tools AS libraries
ARG PIP_INDEX_URL UV_DEFAULT_INDEX
COPY requirements-image.lock ./
RUN uv venv --quiet --python python3 /opt/venv \
 && uv pip sync --quiet --python /opt/venv/bin/python --require-hashes --no-build requirements-image.lock
RUN cd /opt/venv/lib/python3.*/site-packages \
 && rm -rf numpy/f2py numpy/_core/include numpy/_core/lib lxml/includes lxml/isoschematron \
      onnxruntime/transformers onnxruntime/tools onnxruntime/quantization onnxruntime/datasets onnxruntime/backend \
 && find numpy -type d -name tests -prune -exec rm -rf {} + \
 && find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.c' -o -name '*.a' \) -delete \
 && echo /opt/passageway > passageway.pth
# A hash instead of a time in the compiled files: the same input gives the same layer.
RUN /opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/venv \
 && find /opt/venv -exec touch -h -d @0 {} +


# What is ours, as wheels. The weights and their converter stay in this stage.
FROM tools AS build
ARG PIP_INDEX_URL UV_DEFAULT_INDEX
COPY requirements-build.lock ./
RUN uv venv --quiet --python python3 /build \
 && uv pip sync --quiet --python /build/bin/python --require-hashes --no-build requirements-build.lock
COPY --from=libraries /opt/venv /opt/venv
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY shared shared
COPY services services
COPY cli cli
COPY sdk sdk
COPY connectors connectors
COPY embedders embedders
RUN for project in pyproject.toml */pyproject.toml */*/pyproject.toml; do \
        (cd "$(dirname "$project")" && /build/bin/hatchling build -t wheel -d /wheels) || exit 1; \
    done \
 && uv pip install --quiet --python /build/bin/python --no-deps --offline /wheels/passageway_model_e5-*.whl \
 && rm /wheels/passageway_model_e5-*.whl \
 && uv pip install --quiet --python /opt/venv/bin/python --target /opt/passageway --no-deps --offline /wheels/*.whl \
 && /opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/passageway \
 && find /opt/passageway -exec touch -h -d @0 {} +
ENV PASSAGEWAY_CONFIG=/src/none.toml PASSAGEWAY_MODEL_DIR=/models/e5-small PATH=/opt/passageway/bin:/opt/venv/bin:$PATH
# The converter is on the path for one command. The next one must find the model without it, every checksum compared.
RUN PYTHONPATH="$(/build/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" passageway model download \
 && COLUMNS=200 passageway model list | grep -F 'multilingual-e5-small-q4 in /models/e5-small' \
 && find /models -exec touch -h -d @0 {} +


FROM ${BASE_IMAGE}
# Compiled once here, or every connector call would compile its part of the standard library anew; and no installer:
# what is in the image is what was locked.
RUN python3 -m compileall -q -j 0 -x '/(site-packages|dist-packages|test|tests|idlelib|lib2to3|tkinter|turtledemo|ensurepip)/' \
      "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" \
 && find / -xdev \( -path '*python3*/pip' -o -path '*python3*/pip-*' -o -path '*python3*/ensurepip' -o -path '*python3*/setuptools' \
      -o -path '/usr/*bin/pip*' -o -path '/usr/local/bin/pip*' -o -path '/usr/share/python-wheels' \) -prune -exec rm -rf {} + \
 && mkdir -m 0755 /config && mkdir -m 0700 /data && chown 10001:10001 /data \
 && echo 'passageway:x:10001:' >> /etc/group \
 && echo 'passageway:x:10001:10001:passageway:/data:/usr/sbin/nologin' >> /etc/passwd
COPY --from=build /models /models
COPY --from=libraries /opt/venv /opt/venv
COPY --from=build /opt/passageway /opt/passageway
ARG VERSION=0.1.0 REVISION=unknown CREATED=unknown
LABEL org.opencontainers.image.title="passageway" \
      org.opencontainers.image.description="Finds the right passage in your own sources for language models, or says nothing." \
      org.opencontainers.image.licenses="AGPL-3.0-or-later" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
ENV PATH=/opt/passageway/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    ORT_DISABLE_TELEMETRY=1 \
    PASSAGEWAY_HOST=0.0.0.0 \
    PASSAGEWAY_PORT=8082 \
    PASSAGEWAY_DATA_DIR=/data \
    PASSAGEWAY_CONFIG=/config/passageway.toml \
    PASSAGEWAY_MODEL_DIR=/models/e5-small
USER 10001:10001
WORKDIR /
EXPOSE 8082
HEALTHCHECK --interval=60s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-m", "passageway_cli.probe"]
CMD ["passageway"]
