import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './cache.ts'
import { freePort } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { claimFolder } from './folders.ts'
import { startServer } from './server.ts'
import { available, type Service, Unavailable } from './services.ts'

/** Ports of the processes behind it, by what is sent there. */
export interface Upstreams {
  api: number[]
  live: number[]
  ingest: number[]
  mqtt: number[]
}

export interface Nginx {
  url: string
  mqttPort: number
}

/** nginx before the processes of a cluster, with the rules of docker-compose.yml, on the loopback interface. */
export async function startNginx(upstreams: Upstreams): Promise<Service<Nginx>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('nginx is started by itself only on Linux')
    await requireExecutable('nginx', ['nginx', 'libnginx-mod-stream'], 'install nginx with its stream module')
    const claim = await claimFolder(join(cacheFolder(), 'run'), 'nginx')
    const [port, mqttPort] = [await freePort(), await freePort()]
    mkdirSync(join(claim.folder, 'temp'), { recursive: true })
    const file = join(claim.folder, 'nginx.conf')
    writeFileSync(file, configure(claim.folder, { port, mqttPort }, upstreams))
    const { stop } = await startServer({
      claim,
      command: ['nginx', '-c', file, '-e', 'stderr', '-p', claim.folder],
      stopSignal: 'TERM',
      isReady: log => /start worker process/.test(log),
    })
    return { url: `http://127.0.0.1:${port}`, mqttPort, stop }
  })
}

function configure(
  folder: string,
  { port, mqttPort }: { port: number; mqttPort: number },
  upstreams: Upstreams,
): string {
  const upstream = (name: keyof Upstreams) => {
    // Each is asked again a second after it refused.
    const servers = upstreams[name].map(at => `server 127.0.0.1:${at} max_fails=1 fail_timeout=1s;`)
    return `upstream ${name} { ${servers.join(' ')} }`
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${folder}/temp/${name};`)
    .join(' ')
  return `
user root;
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
events { worker_connections 2000; }
stream {
  ${upstream('mqtt')}
  server { listen 127.0.0.1:${mqttPort}; proxy_pass mqtt; proxy_timeout 1h; proxy_protocol on; }
}
http {
  access_log off;
  ${temporary}
  ${upstream('api')}
  ${upstream('live')}
  ${upstream('ingest')}
  client_max_body_size 0;
  proxy_http_version 1.1;
  proxy_next_upstream error timeout http_503;
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade;
  proxy_read_timeout 1h;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://api; }
    location /api/v3/live { proxy_pass http://live; }
    location /api/v3/ingest/ { proxy_pass http://ingest; }
    location /api/v3/location-history/bulk { proxy_pass http://ingest; }
    location /mqtt { proxy_pass http://ingest; }
  }
}
`
}
