// The query parameters of logs, commands and forwarded ports of pods, for OpenAPI documents.
// Source: k8s.io/api/core/v1/types.go (PodLogOptions, PodExecOptions, PodAttachOptions, PodPortForwardOptions)

import type { QueryParameter } from "@postern/apiserver/registry/resource-definition";

const parameter = (name: string, type: QueryParameter["type"], description: string): QueryParameter => ({
  name,
  type,
  description,
});

const CONTAINER = parameter("container", "string", "The container. Default: the only one of the pod.");

export const COMMAND = parameter("command", "string", "The command and its arguments, one each. No shell reads them.");

export const STREAMS: readonly QueryParameter[] = [
  CONTAINER,
  parameter("stderr", "boolean", "Whether the standard error stream is sent."),
  parameter("stdin", "boolean", "Whether the standard input stream is taken."),
  parameter("stdout", "boolean", "Whether the standard output stream is sent."),
  parameter("tty", "boolean", "Whether a terminal is allocated."),
];

export const PORTS: readonly QueryParameter[] = [
  parameter("ports", "integer", "The ports to forward. Required with WebSockets."),
];

export const LOG_QUERY: readonly QueryParameter[] = [
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
