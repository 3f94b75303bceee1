// Checks the store: existence, integrity, health and version.

import { dirname } from "node:path";
import type { EtcdExamination, EtcdMember } from "@postern/stores/etcd/diagnosis/examine-etcd";
import type { UnreachableReason } from "@postern/stores/etcd/diagnosis/why-unreachable";
import { examineSqlite } from "@postern/stores/sqlite/sqlite-storage";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { assertNotInterrupted } from "../../foundation/store/incomplete-store.ts";
import { readTls } from "../../foundation/store/open-store.ts";
import { isDirectory } from "./check-files.ts";
import { clockFinding } from "./clock.ts";
import { AS_SERVER_USER, type Finding, fault, ok, skipped, warning } from "./finding.ts";

const MEBIBYTE = 1 << 20;
/** etcd's own default, which releases before 3.6 do not tell. */
const DEFAULT_QUOTA = 2048 * MEBIBYTE;
const NEARLY_FULL = 0.8;
const OLDEST_ETCD = "3.4";

export type StoreFindings = {
  readonly findings: readonly Finding[];
  /** Whether its content can be looked at: no server has it to itself, and looking changes nothing. */
  readonly isReadable: boolean;
};

export async function checkStore(configuration: Configuration): Promise<StoreFindings> {
  const { store } = configuration;
  switch (store.kind) {
    case "memory":
      return { findings: [skipped("store", "a store in memory exists only in its server")], isReadable: false };
    case "sqlite":
      return await checkSqlite(store.path);
    case "etcd":
      return await checkEtcd(store.endpoints, configuration);
  }
}

async function checkSqlite(path: string): Promise<StoreFindings> {
  const only = (finding: Finding): StoreFindings => ({ findings: [finding], isReadable: false });
  const absent = `${path} does not exist: no server has started on it`;
  if (!(await isDirectory(dirname(path)))) return only(fault("store", absent, "check --data-dir and --store"));
  try {
    await assertNotInterrupted(path);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return only(fault("store", error.message, "see docs/operations/backup.md"));
  }
  const found = await examineSqlite(path);
  const restore = "keep a copy of the file, and restore a backup: see docs/operations/backup.md";
  switch (found.state) {
    case "absent":
      return only(skipped("store", absent, "check --data-dir and --store"));
    case "in use":
      return only(ok("store", `a server is running on ${path}, and checks it once a day`));
    case "foreign":
      return only(fault("store", `${path} is the database of another application`, "correct --store or --data-dir"));
    case "damaged":
      return only(fault("store", `${path} is damaged: ${found.fault}`, restore));
    case "unreadable":
      return only(fault("store", `${path} cannot be read: ${found.fault}`, AS_SERVER_USER));
    case "newer":
      return only(fault("store", found.fault, "install that release: see docs/operations/upgrading.md"));
    case "whole":
      break;
  }
  const { version, newestVersion, bytes } = found;
  const whole = `${path} is intact, ${Math.ceil(bytes / MEBIBYTE)} MiB, format ${version}`;
  if (version === newestVersion) return { findings: [ok("store", whole)], isReadable: true };
  const message = `${whole}; the next start migrates it to format ${newestVersion}, and earlier releases cannot open it afterwards`;
  return only(warning("store", message, "make a backup first: see docs/operations/upgrading.md"));
}

async function checkEtcd(endpoints: readonly string[], configuration: Configuration): Promise<StoreFindings> {
  const { etcd } = configuration;
  const { examineEtcd } = await import("@postern/stores/etcd/diagnosis/examine-etcd");
  let examination: EtcdExamination;
  try {
    examination = await examineEtcd({ endpoints, prefix: etcd.prefix, tls: await readTls(etcd) });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { findings: [fault("etcd", error.message, "correct the option")], isReadable: false };
  }
  const { members, alarms, otherUser, isInstalled, versionFault } = examination;
  const answering = members.filter((member) => member.fault === undefined);
  const findings = [
    ...members.flatMap((member) => checkMember(member, { answering: answering.length, all: members.length, alarms })),
    ...alarms.map(alarmFinding),
    ...members.flatMap(({ address, clockOffsetMs }) => clockFinding(`etcd at ${address}`, clockOffsetMs)),
  ];
  if (answering.length === 0) return { findings, isReadable: false };
  if (versionFault !== undefined) {
    findings.push(fault("etcd", versionFault, "install that release: see docs/operations/upgrading.md"));
  }
  if (!isInstalled) {
    const message = `there are no keys below ${etcd.prefix}: no server has started there`;
    findings.push(warning("etcd", message, "check --etcd-prefix"));
  }
  findings.push(otherUserFinding(otherUser, configuration));
  return { findings, isReadable: isInstalled && versionFault === undefined };
}

const CLIENT_FILES = "--etcd-certfile and --etcd-keyfile";

const CA_REMEDY = "set --etcd-cafile to the CA that signed the certificate of etcd";

const UNREACHABLE: { readonly [reason in UnreachableReason]: readonly [message: string, remedy: string] } = {
  "nothing listens": ["nothing listens there", "start etcd, or correct its address in --store"],
  "unknown host": ["its name cannot be resolved", "correct its name in --store, or the DNS of this machine"],
  "no answer in time": [
    "it does not respond in time",
    "check that etcd runs, and the network and firewalls in between",
  ],
  "untrusted certificate": ["its certificate is not signed by the CA in --etcd-cafile", CA_REMEDY],
  "expired certificate": [
    "its certificate, or the CA that signed it, has expired",
    "renew the certificate of etcd (its --cert-file), and the CA if that has expired",
  ],
  "certificate not yet valid": [
    "its certificate is not valid yet",
    "set the clock of this machine, or renew the certificate of etcd",
  ],
  "certificate for another name": [
    "its certificate is for other names",
    "add the name to the certificate of etcd (subjectAltName), or use one of its names in --store",
  ],
  "no TLS": ["it does not use TLS", "turn on TLS in etcd (--cert-file, --key-file), or remove --etcd-cafile"],
  "TLS only": ["it closes connections without TLS", CA_REMEDY],
  "client certificate missing": [
    "it requires a client certificate",
    `set ${CLIENT_FILES} to a client certificate that etcd trusts (its --trusted-ca-file)`,
  ],
  "client certificate refused": [
    "it refuses the client certificate",
    `set ${CLIENT_FILES} to a certificate that has not expired and that etcd trusts (its --trusted-ca-file)`,
  ],
  "unusable files": [
    `the files of --etcd-cafile, ${CLIENT_FILES} cannot be used`,
    "each has to be a PEM file, and the key that of the certificate",
  ],
};
const UNKNOWN_REMEDY = `check that it runs, its address in --store, and --etcd-cafile, ${CLIENT_FILES}`;

type Cluster = { readonly answering: number; readonly all: number; readonly alarms: readonly string[] };

function checkMember(member: EtcdMember, { answering, all, alarms }: Cluster): readonly Finding[] {
  const { address, version = "", bytes = 0, quotaBytes = DEFAULT_QUOTA, hasLeader, errors = [] } = member;
  if (member.fault !== undefined) {
    const [reason, remedy] = member.reason === undefined ? [member.fault, UNKNOWN_REMEDY] : UNREACHABLE[member.reason];
    const message = `${address} does not answer: ${reason}`;
    const isMajority = answering > all / 2;
    return [isMajority ? warning("etcd", message, remedy) : fault("etcd", message, remedy)];
  }
  const findings: Finding[] = [];
  if (hasLeader === false) {
    findings.push(
      fault("etcd", `${address} has no leader: nothing can be written`, "bring back a majority of the members"),
    );
  }
  // The cause of an alarm has a finding of its own.
  for (const error of errors.filter((text) => !alarms.some((alarm) => text.includes(alarm))))
    findings.push(fault("etcd", `${address} says: ${error}`, "see the documentation of etcd"));
  if (isOlder(version)) {
    findings.push(fault("etcd", `${address} runs etcd ${version}, older than ${OLDEST_ETCD}`, "update etcd"));
  }
  const share = bytes / quotaBytes;
  const size = `${Math.ceil(bytes / MEBIBYTE)} of ${Math.floor(quotaBytes / MEBIBYTE)} MiB`;
  if (share > NEARLY_FULL) {
    const message = `the database of ${address} has ${size}: above that etcd refuses writes`;
    findings.push(warning("etcd", message, "compact and defragment it, or raise --quota-backend-bytes of etcd"));
  }
  return findings.length > 0 ? findings : [ok("etcd", `${address} runs etcd ${version}, and its database has ${size}`)];
}

const isOlder = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < 3 || (major === 3 && minor < 4);
};

function alarmFinding(alarm: string): Finding {
  const remedies: { readonly [alarm: string]: string } = {
    NOSPACE: "compact and defragment etcd, raise its --quota-backend-bytes if necessary, then `etcdctl alarm disarm`",
    CORRUPT: "replace the member that differs: see the documentation of etcd",
  };
  return fault(
    "etcd",
    `etcd has raised the alarm ${alarm}, and refuses writes`,
    remedies[alarm] ?? "see the documentation of etcd",
  );
}

function otherUserFinding(otherUser: EtcdExamination["otherUser"], { etcd }: Configuration): Finding {
  if (otherUser === undefined) return ok("other etcd users", "no other program has keys in this etcd");
  const who =
    otherUser.example === undefined
      ? "this etcd user sees only its own keys"
      : `other applications have keys below ${otherUser.example}`;
  if (etcd.compaction === "always") {
    const remedy = "set --etcd-compaction unless-shared, and --auto-compaction-retention of etcd";
    return warning("other etcd users", `${who}, and this server compacts their history, too`, remedy);
  }
  return ok("other etcd users", `${who}: compact it by the settings of etcd (--auto-compaction-retention)`);
}
