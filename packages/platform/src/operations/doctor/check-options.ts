// Checks for contradictory and ineffective options, and for the release of Node.

import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { parseHostAndPort } from "../../foundation/config/rules.ts";
import { proxyOfEnvironment } from "../../foundation/upstream/outbound-proxy.ts";
import type { Machine } from "../../fronts/front-count.ts";
import { checkThreadOptions } from "./check-threads.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const CHECK = "options";

export function checkOptions(configuration: Configuration, machine: Machine): readonly Finding[] {
  const { bindAddress, externalHostname, securePort, store, etcd, tlsCertFile, tlsSans, bootstrap } = configuration;
  const findings: Finding[] = [];
  const warn = (isSo: boolean, message: string, remedy: string): void => {
    if (isSo) findings.push(warning(CHECK, message, remedy));
  };
  const isOpen = bindAddress === "0.0.0.0" || bindAddress === "::";
  warn(
    isOpen && externalHostname === "",
    "the server listens on all addresses, and kubeconfigs name 127.0.0.1",
    "set --external-hostname to the name that clients use",
  );
  warn(
    securePort === 0 && externalHostname !== "" && parseHostAndPort(externalHostname)?.port !== undefined,
    "--external-hostname has a port, but --secure-port 0 uses another one at each start",
    "set --secure-port",
  );
  warn(
    tlsCertFile !== "" && tlsSans.length > 0,
    "--tls-san has no effect: the certificate of --tls-cert-file has its own names",
    "leave out --tls-san, or --tls-cert-file",
  );
  const isEtcd = store.kind === "etcd";
  const hasEtcdFiles = [etcd.caFile, etcd.certFile, etcd.keyFile].some((file) => file !== "");
  warn(
    !isEtcd && hasEtcdFiles,
    "options for etcd are set, but the store is not etcd",
    "set --store etcd://…, or leave them out",
  );
  warn(
    isEtcd && !hasEtcdFiles && store.endpoints.some((endpoint) => !LOCAL.test(endpoint)),
    "the connection to etcd has no TLS: an attacker on the network can read and change everything",
    "set --etcd-cafile, --etcd-certfile and --etcd-keyfile",
  );
  warn(
    isEtcd && etcd.newInstallation,
    "--etcd-new-installation is set: with a wrong prefix the next start creates an empty installation",
    "leave it out: the installation exists",
  );
  if (isEtcd && (etcd.certFile === "") !== (etcd.keyFile === "")) {
    findings.push(fault(CHECK, "--etcd-certfile and --etcd-keyfile belong together", "set both, or neither"));
  }
  warn(
    store.kind === "memory",
    "the store is in memory: all data is lost when the server stops",
    "use --store sqlite or etcd for data that must persist",
  );
  warn(
    bootstrap.dir === "" && bootstrap.drift === "overwrite",
    "--bootstrap-drift overwrite has no effect without --bootstrap-dir",
    "set --bootstrap-dir, or leave out --bootstrap-drift",
  );
  warn(
    configuration.previousServerKeyFile !== "",
    "--previous-server-key-file is set: two server keys decrypt the key ring",
    "run `postern encryption-key rotate` when all servers use the new key, then leave the option out",
  );
  try {
    proxyOfEnvironment(configuration);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    findings.push(fault(CHECK, error.message, "correct HTTPS_PROXY, or unset it"));
  }
  if (findings.length === 0) findings.push(ok(CHECK, "no option contradicts another"));
  return [...findings, ...checkThreadOptions(configuration, machine), checkNode(machine.nodeVersion)];
}

const LOCAL = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]):/;

export const NODE_CHECK = "node";

/** Releases with an even number are kept for three years. */
function checkNode(version: string): Finding {
  if (Number.parseInt(version, 10) >= 22) return ok(NODE_CHECK, `Node ${version}`);
  return warning(
    NODE_CHECK,
    `Node ${version} gets no security fixes any more, and is slower`,
    "run the server on Node 24",
  );
}
