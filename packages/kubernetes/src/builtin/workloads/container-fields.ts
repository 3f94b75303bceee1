// The fields of containers.
// Source: k8s.io/api/core/v1/types.go (Container, Probe, EnvVar, VolumeMount)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { mergedInPatches } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { quantities } from "../quotas/quantities.ts";

const keyReference = (what: string) =>
  s.object(
    {
      name: s.string().describe(`Name of the ${what}.`),
      key: s.string().required().describe("The key to select."),
      optional: s.boolean().describe("Whether the referenced object or key may be missing."),
    },
    { atomic: true },
  );

const envFields = s.object({
  name: s
    .string()
    .required()
    .describe("Name of the environment variable. May consist of any printable ASCII characters except '='."),
  value: s
    .string()
    .describe(
      "Variable references $(VAR_NAME) are expanded using the previously defined environment variables in the container and any service environment variables.",
    ),
  valueFrom: s
    .object({
      fieldRef: s
        .object(
          {
            apiVersion: s
              .string()
              .describe('Version of the schema the FieldPath is written in terms of, defaults to "v1".'),
            fieldPath: s.string().required().describe("Path of the field to select in the specified API version."),
          },
          { atomic: true },
        )
        .describe("ObjectFieldSelector selects an APIVersioned field of an object."),
      resourceFieldRef: publishedField<JsonObject>("ResourceFieldSelector"),
      fileKeyRef: publishedField<JsonObject>("FileKeySelector"),
      configMapKeyRef: keyReference("ConfigMap").describe("Selects a key from a ConfigMap."),
      secretKeyRef: keyReference("Secret").describe("SecretKeySelector selects a key of a Secret."),
    })
    .describe("EnvVarSource represents a source for the value of an EnvVar."),
});

const sourceReference = s.object({
  name: s
    .string()
    .describe(
      "Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be empty.",
    ),
  optional: s.boolean().describe("Whether the referenced object or key may be missing."),
});

const envFromFields = s.object({
  prefix: s
    .string()
    .describe(
      "Optional text to prepend to the name of each environment variable. May consist of any printable ASCII characters except '='.",
    ),
  configMapRef: sourceReference.describe(
    "ConfigMapEnvSource selects a ConfigMap to populate the environment variables with.",
  ),
  secretRef: sourceReference.describe("SecretEnvSource selects a Secret to populate the environment variables with."),
});

const portFields = s.object({
  name: s
    .string()
    .describe(
      "If specified, this must be an IANA_SVC_NAME and unique within the pod. Each named port in a pod must have a unique name.",
    ),
  hostPort: s
    .int32()
    .describe("Number of port to expose on the host. If specified, this must be a valid port number, 0 < x < 65536."),
  containerPort: s
    .int32()
    .required()
    .describe("Number of port to expose on the pod's IP address. This must be a valid port number, 0 < x < 65536."),
  protocol: s.string().default("TCP").describe('Protocol for port. Must be UDP, TCP, or SCTP. Defaults to "TCP".'),
  hostIP: s.string().describe("What host IP to bind the external port to."),
});

const mountFields = s.object({
  name: s.string().required().describe("This must match the Name of a Volume."),
  readOnly: s
    .boolean()
    .describe("Mounted read-only if true, read-write otherwise (false or unspecified). Defaults to false."),
  recursiveReadOnly: s
    .string()
    .describe("RecursiveReadOnly specifies whether read-only mounts should be handled recursively."),
  mountPath: s.string().required().describe("Path within the container."),
  subPath: s
    .string()
    .describe(
      "Path within the volume from which the container's volume should be mounted. Defaults to \"\" (volume's root).",
    ),
  mountPropagation: s
    .string()
    .describe(
      "mountPropagation determines how mounts are propagated from the host to container and the other way around.",
    ),
  subPathExpr: s
    .string()
    .describe("Expanded path within the volume from which the container's volume should be mounted."),
});

const deviceFields = s.object({
  name: s.string().required().describe("name must match the name of a persistentVolumeClaim in the pod"),
  devicePath: s.string().required().describe("Path within the container."),
});

const probe = () =>
  s.object({
    exec: publishedField<JsonObject>("ExecAction"),
    httpGet: publishedField<JsonObject>("HTTPGetAction"),
    tcpSocket: publishedField<JsonObject>("TCPSocketAction"),
    grpc: publishedField<JsonObject>("GRPCAction"),
    initialDelaySeconds: s
      .int32()
      .describe("Number of seconds after the container has started before liveness probes are initiated."),
    timeoutSeconds: s
      .int32()
      .describe("Number of seconds after which the probe times out. Defaults to 1 second. Minimum value is 1."),
    periodSeconds: s
      .int32()
      .describe("How often (in seconds) to perform the probe. Default to 10 seconds. Minimum value is 1."),
    successThreshold: s
      .int32()
      .describe(
        "Minimum consecutive successes for the probe to be considered successful after having failed. Defaults to 1.",
      ),
    failureThreshold: s
      .int32()
      .describe(
        "Minimum consecutive failures for the probe to be considered failed after having succeeded. Defaults to 3. Minimum value is 1.",
      ),
    terminationGracePeriodSeconds: s
      .int64()
      .describe("Optional duration in seconds the pod needs to terminate gracefully upon probe failure."),
  });

const resourceFields = s.object({
  limits: quantities.describe("Limits describes the maximum amount of compute resources allowed."),
  requests: quantities.describe("Requests describes the minimum amount of compute resources required."),
  claims: s
    .listMap(
      s.object({
        name: s
          .string()
          .required()
          .describe(
            "Name must match the name of one entry in pod.spec.resourceClaims of the Pod where this field is used.",
          ),
        request: s.string().describe("Request is the name chosen for a request in the referenced claim."),
      }),
      ["name"],
    )
    .describe("Claims lists the names of resources, defined in spec.resourceClaims, that are used by this container."),
});

const commonFields = {
  name: s
    .string()
    .required()
    .describe(
      "Name of the container specified as a DNS_LABEL. Each container in a pod must have a unique name (DNS_LABEL). Cannot be updated.",
    ),
  image: s.string().describe("Container image name."),
  command: s
    .list(s.string())
    .describe(
      "Entrypoint array. Not executed within a shell. The container image's ENTRYPOINT is used if this is not provided.",
    ),
  args: s
    .list(s.string())
    .describe("Arguments to the entrypoint. The container image's CMD is used if this is not provided."),
  workingDir: s.string().describe("Container's working directory."),
  ports: mergedInPatches(s.listMap(portFields, ["containerPort", "protocol"]), "containerPort").describe(
    "List of ports to expose from the container. Not specifying a port here DOES NOT prevent that port from being exposed.",
  ),
  envFrom: s.list(envFromFields).describe("List of sources to populate environment variables in the container."),
  env: mergedInPatches(s.listMap(envFields, ["name"]), "name").describe(
    "List of environment variables to set in the container. Cannot be updated.",
  ),
  resources: resourceFields.describe("ResourceRequirements describes the compute resource requirements."),
  resizePolicy: s
    .list(publishedField<JsonObject>("ContainerResizePolicy"))
    .describe("Resources resize policy for the container."),
  restartPolicy: s
    .string()
    .describe(
      "RestartPolicy defines the restart behavior of individual containers in a pod. This overrides the pod-level restart policy.",
    ),
  restartPolicyRules: s
    .list(publishedField<JsonObject>("ContainerRestartRule"))
    .describe("Represents a list of rules to be checked to determine if the container should be restarted on exit."),
  volumeMounts: mergedInPatches(s.listMap(mountFields, ["mountPath"]), "mountPath").describe(
    "Pod volumes to mount into the container's filesystem. Cannot be updated.",
  ),
  volumeDevices: mergedInPatches(s.listMap(deviceFields, ["devicePath"]), "devicePath").describe(
    "volumeDevices is the list of block devices to be used by the container.",
  ),
  livenessProbe: probe().describe(
    "Probe describes a health check to be performed against a container to determine whether it is alive or ready to receive traffic.",
  ),
  readinessProbe: probe().describe(
    "Probe describes a health check to be performed against a container to determine whether it is alive or ready to receive traffic.",
  ),
  startupProbe: probe().describe(
    "Probe describes a health check to be performed against a container to determine whether it is alive or ready to receive traffic.",
  ),
  lifecycle: publishedField<JsonObject>("Lifecycle"),
  terminationMessagePath: s
    .string()
    .describe(
      "Optional: Path at which the file to which the container's termination message will be written is mounted into the container's filesystem.",
    ),
  terminationMessagePolicy: s.string().describe("Indicate how the termination message should be populated."),
  imagePullPolicy: s
    .string()
    .describe(
      "Image pull policy. One of Always, Never, IfNotPresent. Defaults to Always if :latest tag is specified, or IfNotPresent otherwise.",
    ),
  securityContext: publishedField<JsonObject>("SecurityContext"),
  stdin: s.boolean().describe("Whether this container should allocate a buffer for stdin in the container runtime."),
  stdinOnce: s
    .boolean()
    .describe(
      "Whether the container runtime should close the stdin channel after it has been opened by a single attach.",
    ),
  tty: s
    .boolean()
    .describe(
      "Whether this container should allocate a TTY for itself, also requires 'stdin' to be true. Default is false.",
    ),
} as const;

export const containerFields = s.object(commonFields);
export const ephemeralContainerFields = s.object({
  ...commonFields,
  targetContainerName: s
    .string()
    .describe("If set, the name of the container from PodSpec that this ephemeral container targets."),
});
