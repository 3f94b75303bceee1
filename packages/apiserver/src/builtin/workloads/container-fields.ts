// The fields of containers. What only a kubelet would read is kept as it is, without a schema of its own.
// Source: k8s.io/api/core/v1/types.go (Container, Probe, EnvVar, VolumeMount)

import { s } from "@postern/apimachinery/schema/builder";
import { mergedInPatches } from "../builtin-resource.ts";
import { quantities } from "../quotas/quantities.ts";

const keyReference = (what: string) =>
  s.object(
    {
      name: s.string().describe(`Name of the ${what}.`),
      key: s.string().required().describe("The key in it."),
      optional: s.boolean().describe("True: it may be absent."),
    },
    { atomic: true },
  );

const envFields = s.object({
  name: s.string().required().describe("Name of the variable."),
  value: s.string().describe("Its value, in which $(NAME) stands for other variables."),
  valueFrom: s
    .object({
      fieldRef: s
        .object(
          {
            apiVersion: s.string().describe("The version of the path."),
            fieldPath: s.string().required().describe("The path of the field, such as metadata.name."),
          },
          { atomic: true },
        )
        .describe("A field of the pod."),
      resourceFieldRef: s.anyObject().describe("An amount of the container."),
      configMapKeyRef: keyReference("ConfigMap").describe("A key of a ConfigMap."),
      secretKeyRef: keyReference("Secret").describe("A key of a Secret."),
    })
    .describe("Where the value comes from."),
});

const sourceReference = s.object({
  name: s.string().describe("Its name."),
  optional: s.boolean().describe("True: it may be absent."),
});

const envFromFields = s.object({
  prefix: s.string().describe("What the names begin with."),
  configMapRef: sourceReference.describe("A ConfigMap."),
  secretRef: sourceReference.describe("A Secret."),
});

const portFields = s.object({
  name: s.string().describe("Name of the port."),
  hostPort: s.int32().describe("The port of the node."),
  containerPort: s.int32().required().describe("The port of the container."),
  protocol: s.string().default("TCP").describe("TCP, UDP or SCTP. Absent: TCP."),
  hostIP: s.string().describe("The address of the node."),
});

const mountFields = s.object({
  name: s.string().required().describe("Name of the volume."),
  readOnly: s.boolean().describe("True: it cannot be written to."),
  recursiveReadOnly: s.string().describe("Whether what is mounted below it is read-only as well."),
  mountPath: s.string().required().describe("Where it is in the container."),
  subPath: s.string().describe("The part of the volume that is mounted."),
  mountPropagation: s.string().describe("How mounts are passed on."),
  subPathExpr: s.string().describe("As subPath, with variables."),
});

const deviceFields = s.object({
  name: s.string().required().describe("Name of the volume claim."),
  devicePath: s.string().required().describe("Where it is in the container."),
});

const probe = () =>
  s.object({
    exec: s.anyObject().describe("A command."),
    httpGet: s.anyObject().describe("A request."),
    tcpSocket: s.anyObject().describe("A connection."),
    grpc: s.anyObject().describe("A call of the gRPC health service."),
    initialDelaySeconds: s.int32().describe("Seconds before the first."),
    timeoutSeconds: s.int32().describe("Seconds that one may take. Absent: 1."),
    periodSeconds: s.int32().describe("Seconds from one to the next. Absent: 10."),
    successThreshold: s.int32().describe("So many in a row are success. Absent: 1."),
    failureThreshold: s.int32().describe("So many in a row are failure. Absent: 3."),
    terminationGracePeriodSeconds: s.int64().describe("Seconds that the container has to end."),
  });

const resourceFields = s.object({
  limits: quantities.describe("At most this much."),
  requests: quantities.describe("At least this much."),
  claims: s
    .listMap(
      s.object({
        name: s.string().required().describe("Name of a claim of the pod."),
        request: s.string().describe("The part of the claim."),
      }),
      ["name"],
    )
    .describe("Claims for devices."),
});

const commonFields = {
  name: s.string().required().describe("Name of the container, a DNS label."),
  image: s.string().describe("The image."),
  command: s.list(s.string()).describe("What is run. Absent: what the image says."),
  args: s.list(s.string()).describe("Its arguments. Absent: what the image says."),
  workingDir: s.string().describe("The directory it is run in."),
  ports: mergedInPatches(s.listMap(portFields, ["containerPort", "protocol"]), "containerPort").describe("Its ports."),
  envFrom: s.list(envFromFields).describe("Objects whose keys become variables."),
  env: mergedInPatches(s.listMap(envFields, ["name"]), "name").describe("Variables."),
  resources: resourceFields.describe("Amounts of processors, memory and other resources."),
  resizePolicy: s.list(s.anyObject()).describe("How its amounts are changed."),
  restartPolicy: s.string().describe("Always: an init container that goes on beside the others."),
  volumeMounts: mergedInPatches(s.listMap(mountFields, ["mountPath"]), "mountPath").describe("Volumes."),
  volumeDevices: mergedInPatches(s.listMap(deviceFields, ["devicePath"]), "devicePath").describe("Block devices."),
  livenessProbe: probe().describe("Whether it still works."),
  readinessProbe: probe().describe("Whether it takes traffic."),
  startupProbe: probe().describe("Whether it has started."),
  lifecycle: s.anyObject().describe("What is done after its start and before its end."),
  terminationMessagePath: s.string().describe("The file with the last words of the container."),
  terminationMessagePolicy: s.string().describe("File or FallbackToLogsOnError."),
  imagePullPolicy: s.string().describe("Always, IfNotPresent or Never."),
  securityContext: s.anyObject().describe("What the container may do on its node."),
  stdin: s.boolean().describe("Whether it reads its standard input."),
  stdinOnce: s.boolean().describe("True: the standard input ends with the first client."),
  tty: s.boolean().describe("Whether it has a terminal."),
} as const;

export const containerFields = s.object(commonFields);
export const ephemeralContainerFields = s.object({
  ...commonFields,
  targetContainerName: s.string().describe("The container whose processes it sees."),
});
