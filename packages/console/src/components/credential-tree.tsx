// A tree of credentials below the ones that created them. Revoking one also revokes those below it.

import type { Credential } from "@postern/api/credential-ledger";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FileBadge, KeyRound } from "lucide-react";
import { useMemo, useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { useMay } from "../api/use-may.ts";
import { t } from "../texts/text.tsx";
import { Button } from "./button.tsx";
import { Confirm } from "./dialogs/confirm.tsx";
import { useFirst } from "./tables/long-list.tsx";
import { Time } from "./time.tsx";

const idOf = ({ id = "" }: Credential): string => id;

type Node = { readonly credential: Credential; readonly below: readonly Node[] };

/** Each credential once, below the first of its parents in the list. */
export function treeOf(credentials: readonly Credential[]): readonly Node[] {
  const known = new Set(credentials.map(idOf));
  const below = new Map<string, Credential[]>();
  const roots: Credential[] = [];
  for (const credential of credentials) {
    const parent = credential.parents?.find((id) => known.has(id) && id !== idOf(credential));
    const siblings = parent === undefined ? roots : below.get(parent);
    if (siblings !== undefined) siblings.push(credential);
    else if (parent !== undefined) below.set(parent, [credential]);
  }
  const nodeOf = (credential: Credential): Node => ({
    credential,
    below: (below.get(idOf(credential)) ?? []).map(nodeOf),
  });
  return roots.map(nodeOf);
}

/** `address` and `name` of the object that the credentials belong to. Each can be revoked separately with the permission for it. */
export function CredentialTree(props: {
  readonly address: ResourceAddress;
  readonly name: string;
  readonly credentials: readonly Credential[];
}) {
  const { address, name, credentials } = props;
  const { client } = useApi();
  const queries = useQueryClient();
  const { group, resource, namespace } = address;
  const right = useMay({
    verb: "create",
    group,
    resource,
    subresource: "credentials",
    name,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const [asked, setAsked] = useState<Credential>();
  const roots = useMemo(() => treeOf(credentials), [credentials]);
  const revoke = async (): Promise<void> => {
    if (asked === undefined) return;
    const body = { kind: "CredentialLedger", spec: { revoke: [idOf(asked)] } };
    await createResourceClient(client, address).createSubresource(name, "credentials", body);
    await queries.invalidateQueries({ queryKey: ["credentials"] });
  };
  return (
    <>
      <Branches nodes={roots} onRevoke={right.isAllowed ? setAsked : undefined} />
      <Confirm
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={t("credential.revoke.title", { name: asked === undefined ? "" : titleOf(asked) })}
        action={t("credential.revoke")}
        isDangerous
        consequences={[
          t(asked?.kind === "Certificate" ? "credential.revoke.certificate" : "credential.revoke.key"),
          t("credential.revoke.made"),
          ...(hasClusterCertificates(asked, credentials) ? [t("credential.revoke.cluster")] : []),
        ]}
        onConfirm={revoke}
      />
    </>
  );
}

const titleOf = ({ kind, name, subject, id }: Credential): string =>
  kind === "AccessKey" && name !== undefined ? name : t("credential.certificate", { subject: subject ?? id ?? "" });

/** Whether something that was created with the credential stays valid in a cluster. */
function hasClusterCertificates(asked: Credential | undefined, credentials: readonly Credential[]): boolean {
  if (asked === undefined) return false;
  const [root] = treeOf([{ ...asked, parents: [] }, ...credentials.filter(({ id }) => id !== asked.id)]);
  const isOrHas = ({ credential, below }: Node): boolean => credential.enforcedBy === "Cluster" || below.some(isOrHas);
  return root?.below.some(isOrHas) === true;
}

type BranchesProps = {
  readonly nodes: readonly Node[];
  /** Absent without the permission. */
  readonly onRevoke: ((credential: Credential) => void) | undefined;
};

function Branches({ nodes, onRevoke }: BranchesProps) {
  const { first, more } = useFirst(nodes);
  return (
    <ul className="tree">
      {first.map(({ credential, below }) => (
        <li key={credential.id}>
          <Leaf credential={credential} onRevoke={onRevoke} />
          {below.length > 0 && <Branches nodes={below} onRevoke={onRevoke} />}
        </li>
      ))}
      {more !== false && <li>{more}</li>}
    </ul>
  );
}

function Leaf(props: { readonly credential: Credential; readonly onRevoke: BranchesProps["onRevoke"] }) {
  const { credential, onRevoke } = props;
  const { kind, name, virtualCluster, owner, expirationTimestamp, lastActivity } = credential;
  const isInCluster = credential.enforcedBy === "Cluster";
  return (
    <div className="leaf">
      {kind === "Certificate" ? <FileBadge aria-hidden="true" /> : <KeyRound aria-hidden="true" />}
      <span className="two-lines">
        {kind === "AccessKey" && name !== undefined ? (
          <Link to="/keys/$name" params={{ name }}>
            {name}
          </Link>
        ) : (
          <span>{titleOf(credential)}</span>
        )}
        <span className="muted">
          {[owner, virtualCluster === undefined ? "" : t("credential.for", { name: virtualCluster })]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </span>
      <span className="leaf-times muted">
        {kind === "AccessKey" && (
          <span>
            {lastActivity != null && t("time.used")} <Time at={lastActivity} otherwise={t("key.neverUsed")} />
          </span>
        )}
        <span>
          {t(isInCluster ? "credential.ends.cluster" : "time.expires")}{" "}
          <Time at={expirationTimestamp} otherwise={t("key.neverExpires")} />
        </span>
      </span>
      {onRevoke !== undefined && !isInCluster && (
        <Button
          kind="danger"
          onPress={() => onRevoke(credential)}
          aria-label={t("credential.revoke.of", { name: titleOf(credential) })}
        >
          {t("credential.revoke")}
        </Button>
      )}
    </div>
  );
}
