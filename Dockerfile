# The three trainers in an image: docker build -t train-gpt . && docker run -it -v "$PWD:/work" train-gpt
FROM rust:1-bookworm AS build
COPY . /src
RUN cd /src && cargo build --locked --profile dist --config 'profile.dist.strip="symbols"' -p train-gpt -p train-gpt-mha -p train-gpt-modern

FROM debian:bookworm-slim
COPY --from=build /src/target/dist/train-gpt /src/target/dist/train-gpt-mha /src/target/dist/train-gpt-modern /usr/local/bin/
WORKDIR /work
ENTRYPOINT ["train-gpt-mha"]
