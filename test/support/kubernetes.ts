import { z } from 'zod'

/**
 * The parts of Kubernetes' API (reference of 1.34) that docs/deploy/kubernetes uses. A key that is not here is a mistyped one,
 * or has to be added: the API server drops unknown keys with a warning.
 */
const name = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
const labels = z.record(z.string().regex(/^([a-z0-9.-]+\/)?[\w.-]{1,63}$/), z.string().max(63))
const annotations = z.record(z.string(), z.string())
const metadata = z.strictObject({ name, labels: labels.optional(), annotations: annotations.optional() })
const port = z.int().min(1).max(65_535)
const quantity = z.string().regex(/^\d+(m|Mi|Gi)?$/)
const selector = z.strictObject({ matchLabels: labels })

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith('/'), port: z.union([name, port]) }),
  periodSeconds: z.int().min(1).optional(),
  timeoutSeconds: z.int().min(1).optional(),
  failureThreshold: z.int().min(1).optional(),
})

const container = z.strictObject({
  name,
  image: z.string(),
  envFrom: z.array(z.strictObject({ configMapRef: z.strictObject({ name }) })),
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  ports: z.array(z.strictObject({ name: name.max(15), containerPort: port })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.strictObject({
    requests: z.strictObject({ cpu: quantity, memory: quantity }),
    limits: z.strictObject({ memory: quantity }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.array(z.string()) }),
  }),
  volumeMounts: z.array(
    z.strictObject({ name, mountPath: z.string().startsWith('/'), readOnly: z.boolean().optional() }),
  ),
})

const volume = z.union([
  z.strictObject({ name, persistentVolumeClaim: z.strictObject({ claimName: name }) }),
  z.strictObject({
    name,
    emptyDir: z.strictObject({ medium: z.literal('Memory').optional(), sizeLimit: quantity.optional() }),
  }),
  z.strictObject({ name, secret: z.strictObject({ secretName: name, defaultMode: z.int() }) }),
])

const pod = z.strictObject({
  enableServiceLinks: z.literal(false),
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.int(),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().min(1),
    runAsGroup: z.int().min(1),
    fsGroup: z.int().min(1),
    fsGroupChangePolicy: z.enum(['OnRootMismatch', 'Always']),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  topologySpreadConstraints: z.array(
    z.strictObject({
      maxSkew: z.int().min(1),
      topologyKey: z.string(),
      whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']),
      labelSelector: selector,
    }),
  ),
  containers: z.array(container).length(1),
  volumes: z.array(volume),
})

const deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas: z.int().min(1),
    selector,
    strategy: z.strictObject({
      rollingUpdate: z.strictObject({ maxSurge: z.int(), maxUnavailable: z.int() }),
    }),
    template: z.strictObject({
      metadata: z.strictObject({ labels, annotations }),
      spec: pod,
    }),
  }),
})

const disruptionBudget = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: z.strictObject({ maxUnavailable: z.int().min(1), selector }),
})

const service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.strictObject({
    type: z.enum(['ClusterIP', 'LoadBalancer']).optional(),
    externalTrafficPolicy: z.enum(['Local', 'Cluster']).optional(),
    selector: labels,
    ports: z.array(z.strictObject({ name, port, targetPort: z.union([name, port]) })),
  }),
})

const backend = z.strictObject({
  service: z.strictObject({ name, port: z.strictObject({ name }) }),
})
const ingress = z.strictObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('Ingress'),
  metadata,
  spec: z.strictObject({
    ingressClassName: name,
    tls: z.array(z.strictObject({ hosts: z.array(z.string()), secretName: name })),
    rules: z.array(
      z.strictObject({
        host: z.string(),
        http: z.strictObject({
          paths: z.array(
            z.strictObject({
              path: z.string().startsWith('/'),
              pathType: z.enum(['Prefix', 'Exact']),
              backend,
            }),
          ),
        }),
      }),
    ),
  }),
})

const configMap = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata,
  // A number or a truth value without quotation marks is refused.
  data: z.record(z.string(), z.string()),
})

const claim = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PersistentVolumeClaim'),
  metadata,
  spec: z.strictObject({
    accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteMany'])),
    resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
  }),
})

export const manifest = z.discriminatedUnion('kind', [
  deployment,
  disruptionBudget,
  service,
  ingress,
  configMap,
  claim,
])
export type Manifest = z.infer<typeof manifest>
