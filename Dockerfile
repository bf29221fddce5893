# Two stages: the first compiles, the second holds what runs.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json build.mjs prune.mjs slim-postgis.mjs bundle.mjs ./
COPY console ./console
COPY clients ./clients
COPY src ./src
COPY ingest ./ingest
COPY stream ./stream
COPY db ./db
COPY fair ./fair
COPY basemap ./basemap
# docker build --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT
RUN COMMIT=$COMMIT npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MQTT_PORT=1883 DATA_DIR=/data
# Of glibc: without it threads keep 40 to 60 MB that nobody uses.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/clients/typescript/package.json ./clients/typescript/package.json
COPY --from=build /app/clients/typescript/dist ./clients/typescript/dist
COPY --from=build /app/db/migrations ./db/migrations
COPY --from=build /app/basemap ./basemap
COPY --from=build /app/src/commands/traces ./src/commands/traces
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000 1883
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+process.env.PORT+'/health').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# Not through npm: SIGTERM has to reach the process that drains.
CMD ["node", "dist/server/src/main.js"]
