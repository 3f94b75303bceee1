// Requests that issue credentials: always in the audit log, but never with their secrets, whatever the policy says.

import { JOIN_PATH, TUNNEL_KEY_PATH } from "@postern/api/cluster-tunnel";
import type { PlatformNames } from "@postern/api/platform-names";
import { RECORDINGS_PATH } from "@postern/api/session-recording";
import { UNWRAP_PATH } from "@postern/api/wrapped-value";
import { redactionByDefault } from "@postern/apiserver/audit/audit-backend";
import type { AuditRules } from "@postern/apiserver/audit/audit-policy";
import type { BodyRedaction } from "@postern/apiserver/audit/recorded-body";
import { redactSecrets } from "@postern/apiserver/audit/redact-secrets";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import { TOKEN_ENDPOINT_PATH } from "../../foundation/issuers/token-endpoint.ts";
import type { AccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";

type Groups = Pick<PlatformNames, "managementGroup" | "storageGroup">;

/** Subresources of the management group that answer with a key or a kubeconfig. */
const ISSUING: ReadonlySet<string> = new Set(["kubeconfig", "accesskey", "rotate", "join"]);
/** Resources of the platform whose bodies hold keys. */
const KEYS: ReadonlySet<string> = new Set(["ownedaccesskeys", "accesskeys", "selves"]);
/** Resources of the platform whose writes make keys. */
const MAKING: ReadonlySet<string> = new Set(["ownedaccesskeys", "accesskeys", "kubeconfiggenerators"]);
/** Resources of the platform whose bodies are secret as a whole. */
const SECRETS: ReadonlySet<string> = new Set(["projectsecrets", "sharedsecrets"]);
/** Bodies that are sent here to be tested are credentials. */
const TESTED: ReadonlySet<string> = new Set(["clustertrustrules/test", "trustrules/test", "identityproviders/test"]);
/** As token exchange, these steps of a sign-in answer with a key as well. */
const SIGN_INS = /^\/login\/(?:callback\/[^/]+|key|confirm|session)$/;
/** Paths that exchange one credential for another. Agents exchange a value, or the key that they have, for a key. */
const EXCHANGES: ReadonlySet<string> = new Set([TOKEN_ENDPOINT_PATH, UNWRAP_PATH, JOIN_PATH, TUNNEL_KEY_PATH]);
/** Requests behind a proxy are not known here, so they are taken for secret. */
const PROXIES = /^\/+kubernetes\/+(project|cluster)(\/|$)/;

/** Issuing is recorded at the level Metadata at least: who got which credential, when and by whom. */
export function alwaysRecordingCredentials(policy: AuditRules, groups: Groups): AuditRules {
  return (user, info) => {
    const decision = policy(user, info);
    if (!issuesCredentials(info, groups) && !readsRecordings(info)) return decision;
    return {
      ...decision,
      level: decision.level === "None" ? "Metadata" : decision.level,
      omitStages: decision.omitStages.filter((stage) => stage !== "ResponseComplete" && stage !== "Panic"),
    };
  };
}

/** Recordings of sessions show secrets: each reading is recorded. */
const readsRecordings = ({ isResourceRequest, path }: RequestInfo): boolean =>
  !isResourceRequest && (path === RECORDINGS_PATH || path.startsWith(`${RECORDINGS_PATH}/`));

export function issuesCredentials(info: RequestInfo, groups: Groups): boolean {
  const { isResourceRequest, apiGroup, resource, subresource, verb, path } = info;
  if (!isResourceRequest && EXCHANGES.has(path)) return true;
  if (!isResourceRequest && SIGN_INS.test(path)) return verb !== "get" || path.startsWith("/login/callback/");
  if (!isResourceRequest || (apiGroup !== groups.managementGroup && apiGroup !== groups.storageGroup)) return false;
  if (subresource !== "") return ISSUING.has(subresource);
  const isWrite = verb === "create" || verb === "update" || verb === "patch";
  return isWrite && MAKING.has(resource);
}

/** The members of those bodies that are secret, by whatever name the resource gives them. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  "key",
  "accessKey",
  "token",
  "kubeConfig",
  "idToken",
  "accessToken",
  "refreshToken",
  "connectorData",
  "nonce",
  "url",
]);

/**
 * Redaction of the bodies of a request: without credentials where its resource has some, and without anything that looks like an
 * access key in any case.
 */
export function bodyRedaction(groups: Groups, format: Pick<AccessKeyFormat, "find">) {
  const looksSecret = (text: string): boolean => format.find(text);
  const ofKeys: BodyRedaction = (body) => redactSecrets(body, { members: SECRET_MEMBERS, looksSecret });
  const ofOthers: BodyRedaction = (body) => redactSecrets(body, { members: NO_MEMBERS, looksSecret });
  return (info: RequestInfo): BodyRedaction => {
    const { apiGroup, resource, subresource, path } = info;
    if (
      PROXIES.test(path) ||
      EXCHANGES.has(path) ||
      path.startsWith(`${JOIN_PATH}/`) ||
      SIGN_INS.test(path) ||
      TESTED.has(`${resource}/${subresource}`)
    )
      return nothing;
    const byDefault = redactionByDefault(info);
    if (byDefault !== undefined) return byDefault;
    if (apiGroup === groups.managementGroup && SECRETS.has(resource)) return nothing;
    const isOurs = apiGroup === groups.managementGroup || apiGroup === groups.storageGroup;
    return isOurs && (KEYS.has(resource) || ISSUING.has(subresource)) ? ofKeys : ofOthers;
  };
}

const NO_MEMBERS: ReadonlySet<string> = new Set();
const nothing: BodyRedaction = () => undefined;
