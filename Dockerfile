# Triptych without a build step: runtime requirements, the app, the built-in model, the sample library.
#
#   docker build -t triptych .
#   docker run --rm -p 127.0.0.1:7860:7860 -v triptych-data:/data -v triptych-models:/models triptych
#
# An Intel GPU needs the host's render device (--device /dev/dri) and Intel's compute runtime in the image.
FROM python:3.12-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    GRADIO_ANALYTICS_ENABLED=False \
    HF_HUB_DISABLE_TELEMETRY=1 \
    TRIPTYCH_HOST=0.0.0.0 \
    TRIPTYCH_PORT=7860 \
    TRIPTYCH_DATA_DIR=/data \
    TRIPTYCH_MODELS_DIR=/models

WORKDIR /app

# Before the sources, so that a change of code does not install everything again.
COPY requirements.txt constraints.txt ./
RUN pip install -r requirements.txt -c constraints.txt

RUN useradd --create-home --uid 10001 triptych \
    && mkdir /data /models \
    && chown triptych:triptych /data /models

COPY LICENSE NOTICE ./
COPY assets/ assets/
COPY embedding/ embedding/
COPY index/ index/
COPY ui/ ui/
COPY app.py ./

USER triptych
VOLUME ["/data", "/models"]
EXPOSE 7860

# The first start compiles the model and indexes the sample library.
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/health', timeout=4)"]

CMD ["python", "app.py"]
