# Two stages: the first compiles, the second holds what runs.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json prune.mjs slim-postgis.mjs bundle.mjs ./
COPY console ./console
COPY src ./src
COPY ingest ./ingest
COPY stream ./stream
COPY db ./db
COPY fair ./fair
COPY basemap ./basemap
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:22-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MQTT_PORT=1883 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/db/migrations ./db/migrations
COPY --from=build /app/basemap ./basemap
COPY --from=build /app/src/commands/traces ./src/commands/traces
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000 1883
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+process.env.PORT+'/ready').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
# Not through npm: SIGTERM has to reach the process that drains.
CMD ["node", "dist/server/src/main.js"]
