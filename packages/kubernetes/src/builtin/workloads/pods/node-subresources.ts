// Subresources of pods that a kubelet would answer: logs, commands, attached terminals and forwarded ports.
// Source: k8s.io/api/core/v1/types.go (PodLogOptions, PodExecOptions, PodAttachOptions, PodPortForwardOptions)

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { ConnectMethod, QueryParameter, Subresource } from "@postern/apiserver/registry/resource-definition";

const parameter = (name: string, type: QueryParameter["type"], description: string): QueryParameter => ({
  name,
  type,
  description,
});

const CONTAINER = parameter("container", "string", "The container. Default: the only one of the pod.");

const COMMAND = parameter("command", "string", "The command and its arguments, one each. No shell reads them.");

const STREAMS: readonly QueryParameter[] = [
  CONTAINER,
  parameter("stderr", "boolean", "Whether the standard error stream is sent."),
  parameter("stdin", "boolean", "Whether the standard input stream is taken."),
  parameter("stdout", "boolean", "Whether the standard output stream is sent."),
  parameter("tty", "boolean", "Whether a terminal is allocated."),
];

const PORTS: readonly QueryParameter[] = [
  parameter("ports", "integer", "The ports to forward. Required with WebSockets."),
];

const LOG_QUERY: readonly QueryParameter[] = [
  CONTAINER,
  parameter("follow", "boolean", "Whether the answer goes on with what is written later."),
  parameter("insecureSkipTLSVerifyBackend", "boolean", "Whether the certificate of the kubelet is not verified."),
  parameter("limitBytes", "integer", "About how many bytes are sent at most."),
  parameter("previous", "boolean", "Whether the log is that of the container before its last restart."),
  parameter("sinceSeconds", "integer", "How many seconds before now the log begins."),
  parameter("stream", "string", "`All`, `Stdout` or `Stderr`."),
  parameter("tailLines", "integer", "How many lines from the end are sent."),
  parameter("timestamps", "boolean", "Whether each line begins with its time."),
];

/** Subresource that a kubelet would answer. */
const onNode = (
  name: string,
  what: string,
  query: readonly QueryParameter[],
  connectMethods: readonly ConnectMethod[] = ["get", "post"],
): Subresource => ({
  name,
  query,
  connectMethods,
  kind: { group: "", version: "v1", kind: name === "log" ? "Pod" : `Pod${what}Options` },
  description: "Refused: the pod runs nowhere.",
  connect({ info }) {
    throw badRequestError(`pod ${info.name} runs nowhere: this virtual cluster keeps pods and nodes as objects`);
  },
});

export const NODE_SUBRESOURCES: readonly Subresource[] = [
  onNode("log", "", LOG_QUERY, ["get"]),
  onNode("exec", "Exec", [COMMAND, ...STREAMS]),
  onNode("attach", "Attach", STREAMS),
  onNode("portforward", "PortForward", PORTS),
];
