// Reads options from environment variables, and rejects unknown ones with our prefix.

import { CATALOGUE_ENTRIES, CONFIG_ENVIRONMENT_NAME, ENVIRONMENT_PREFIX } from "./catalogue.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { suggest } from "./suggest.ts";

export type Environment = { readonly [name: string]: string | undefined };

/**
 * Kubernetes puts the addresses of every Service into the containers of its namespace: a Service called `postern` or `postern-x` sets variables with
 * our prefix. Source: k8s.io/kubernetes/pkg/kubelet/envvars/envvars.go
 */
const SERVICE_LINK = /_SERVICE_(HOST|PORT)$|_SERVICE_PORT_|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_LINK_PORT = /^POSTERN_([A-Z0-9_]+_)?PORT$/;
const SERVICE_LINK_URL = /^(tcp|udp|sctp):\/\//;

/** Read by commands that talk to a platform. A shell with these also runs `postern serve` and `postern doctor`. */
const OF_COMMANDS: ReadonlySet<string> = new Set(
  [
    "URL",
    "TOKEN",
    "CA",
    "TRUST_RULE",
    "ID_TOKEN",
    "ID_TOKEN_FILE",
    "CLIENT_CERTIFICATE",
    "CLIENT_KEY",
    "DPOP_KEY",
    "WRAPPED_VALUE",
  ].map((name) => `${ENVIRONMENT_PREFIX}${name}`),
);

/** Texts by option path. An empty variable counts as unset. Throws ConfigurationError for an unknown name. */
export function readEnvironment(environment: Environment): ReadonlyMap<string, string> {
  const byName = new Map(CATALOGUE_ENTRIES.map((entry) => [entry.environmentName, entry.path]));
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || value === "" || !name.startsWith(ENVIRONMENT_PREFIX)) continue;
    if (name === CONFIG_ENVIRONMENT_NAME || OF_COMMANDS.has(name) || isServiceLink(name, value)) continue;
    const path = byName.get(name);
    if (path === undefined) {
      throw new ConfigurationError(
        `unknown environment variable ${name}${suggest(name, byName.keys())}: correct or unset it`,
      );
    }
    values.set(path, value);
  }
  return values;
}

const isServiceLink = (name: string, value: string): boolean =>
  SERVICE_LINK.test(name) || (SERVICE_LINK_PORT.test(name) && SERVICE_LINK_URL.test(value));
