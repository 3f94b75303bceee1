// The fields of containers.
// Source: k8s.io/api/core/v1/types.go (Container, Probe, EnvVar, VolumeMount)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { mergedInPatches } from "../../builtin-resource.ts";
import { publishedField } from "../../published/published-field.ts";
import { quantities } from "../../quotas/quantities.ts";

/** Each type has its own, which goes by its name in OpenAPI documents. */
const keyReference = () =>
  s.object(
    {
      name: s.string(),
      key: s.string().required(),
      optional: s.boolean(),
    },
    { atomic: true },
  );

const envFields = s.object({
  name: s.string().required(),
  value: s.string(),
  valueFrom: s.object({
    fieldRef: s.object(
      {
        apiVersion: s.string(),
        fieldPath: s.string().required(),
      },
      { atomic: true },
    ),
    resourceFieldRef: publishedField<JsonObject>("ResourceFieldSelector"),
    fileKeyRef: publishedField<JsonObject>("FileKeySelector"),
    configMapKeyRef: keyReference(),
    secretKeyRef: keyReference(),
  }),
});

const sourceReference = () => s.object({ name: s.string(), optional: s.boolean() });

const envFromFields = s.object({
  prefix: s.string(),
  configMapRef: sourceReference(),
  secretRef: sourceReference(),
});

const portFields = s.object({
  name: s.string(),
  hostPort: s.int32(),
  containerPort: s.int32().required(),
  protocol: s.string().default("TCP"),
  hostIP: s.string(),
});

const mountFields = s.object({
  name: s.string().required(),
  readOnly: s.boolean(),
  recursiveReadOnly: s.string(),
  mountPath: s.string().required(),
  subPath: s.string(),
  mountPropagation: s.string(),
  subPathExpr: s.string(),
});

const deviceFields = s.object({
  name: s.string().required(),
  devicePath: s.string().required(),
});

const probe = () =>
  s.object({
    exec: publishedField<JsonObject>("ExecAction"),
    httpGet: publishedField<JsonObject>("HTTPGetAction"),
    tcpSocket: publishedField<JsonObject>("TCPSocketAction"),
    grpc: publishedField<JsonObject>("GRPCAction"),
    initialDelaySeconds: s.int32(),
    timeoutSeconds: s.int32(),
    periodSeconds: s.int32(),
    successThreshold: s.int32(),
    failureThreshold: s.int32(),
    terminationGracePeriodSeconds: s.int64(),
  });

const resourceFields = s.object({
  limits: quantities,
  requests: quantities,
  claims: s.listMap(
    s.object({
      name: s.string().required(),
      request: s.string(),
    }),
    ["name"],
  ),
});

const commonFields = {
  name: s.string().required(),
  image: s.string(),
  command: s.list(s.string()),
  args: s.list(s.string()),
  workingDir: s.string(),
  ports: mergedInPatches(s.listMap(portFields, ["containerPort", "protocol"]), "containerPort"),
  envFrom: s.list(envFromFields),
  env: mergedInPatches(s.listMap(envFields, ["name"]), "name"),
  resources: resourceFields,
  resizePolicy: s.list(publishedField<JsonObject>("ContainerResizePolicy")),
  restartPolicy: s.string(),
  restartPolicyRules: s.list(publishedField<JsonObject>("ContainerRestartRule")),
  volumeMounts: mergedInPatches(s.listMap(mountFields, ["mountPath"]), "mountPath"),
  volumeDevices: mergedInPatches(s.listMap(deviceFields, ["devicePath"]), "devicePath"),
  livenessProbe: probe(),
  readinessProbe: probe(),
  startupProbe: probe(),
  lifecycle: publishedField<JsonObject>("Lifecycle"),
  terminationMessagePath: s.string(),
  terminationMessagePolicy: s.string(),
  imagePullPolicy: s.string(),
  securityContext: publishedField<JsonObject>("SecurityContext"),
  stdin: s.boolean(),
  stdinOnce: s.boolean(),
  tty: s.boolean(),
} as const;

export const containerFields = s.object(commonFields);
export const ephemeralContainerFields = s.object({
  ...commonFields,
  targetContainerName: s.string(),
});
