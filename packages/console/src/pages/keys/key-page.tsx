// One access key: what it may do, what it was used for, what was made with it, and what can be done with it.

import { createResourceClient } from "@postern/client/resource-client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { type Api, useApi } from "../../api/api-context.tsx";
import {
  ACCESS_KEYS,
  type AccessKey,
  type Credential,
  type Explanation,
  managementVersion,
  nameOf,
} from "../../api/resources.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Code } from "../../components/copy-text.tsx";
import { CredentialTree } from "../../components/credential-tree.tsx";
import { ListLink, ObjectPage } from "../../components/object-page.tsx";
import { Button, ErrorNotice, Facts, Loading, Notice, PageHead, Section, Time } from "../../components/ui.tsx";
import { duration } from "../../format/ages.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { KeyActions } from "./key-actions.tsx";
import { KeyEvents } from "./key-events.tsx";
import { keyState, ownerOf } from "./key-state.ts";
import { KeyStateBadge } from "./keys-page.tsx";
import { ScopeList } from "./scope-list.tsx";
import { scopeSummary } from "./scope-words.ts";

const keysOf = ({ client }: Pick<Api, "client">) => createResourceClient<AccessKey>(client, ACCESS_KEYS);

export function KeyPage() {
  const { name = "" } = useParams({ strict: false });
  return (
    <ObjectPage<AccessKey> kind="key" address={ACCESS_KEYS} name={name}>
      {(accessKey) => <KeyView accessKey={accessKey} />}
    </ObjectPage>
  );
}

function KeyView({ accessKey }: { readonly accessKey: AccessKey }) {
  const name = nameOf(accessKey);
  const credentials = useCredentials(name, accessKey);
  const { spec = {}, status = {}, metadata } = accessKey;
  const made = (credentials.data ?? []).filter((credential) => credential.name !== name);
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <>
      <PageHead
        above={<ListLink kind="key" />}
        title={spec.displayName || name}
        lead={spec.description}
        actions={<KeyActions accessKey={accessKey} made={made} />}
      />
      {keyState(accessKey, Date.now()).tone === "bad" && ready?.message !== undefined && (
        <Notice tone="bad">
          <p>
            {ready.message}. {named("key.remedy", ready.reason ?? "")}
          </p>
        </Notice>
      )}
      <div className="card">
        <Facts
          items={[
            [t("key.fact.state"), <KeyStateBadge key="state" accessKey={accessKey} />],
            [t("key.fact.name"), <code key="name">{name}</code>],
            [t("key.fact.owner"), `${ownerOf(accessKey).name} (${t(`owner.${ownerOf(accessKey).kind}`)})`],
            [t("key.fact.used"), <Time key="used" at={status.lastActivity} otherwise={t("key.neverUsed")} />],
            [t("key.fact.expires"), <Expiry key="expires" accessKey={accessKey} />],
            [t("key.fact.created"), <Time key="created" at={metadata.creationTimestamp ?? undefined} otherwise="" />],
            ...(status.issuedBy === undefined
              ? []
              : [[t("key.fact.issuedBy"), `${status.issuedBy.rule} (${status.issuedBy.subject})`] as const]),
            ...(spec.secretRef === undefined
              ? []
              : [[t("key.fact.secret"), `${spec.secretRef.namespace}/${spec.secretRef.name}`] as const]),
            ...(spec.groups === undefined || spec.groups.length === 0
              ? []
              : [[t("key.fact.groups"), spec.groups.join(", ")] as const]),
          ]}
        />
      </div>
      <Section title={t("key.scope.title")} lead={scopeSummary(spec)}>
        <ScopeList limits={spec} />
      </Section>
      <Usage name={name} accessKey={accessKey} />
      <Section title={t("key.made.title")} lead={t("key.made.lead")}>
        {credentials.isPending && <Loading />}
        {credentials.error !== null && (
          <ErrorNotice error={credentials.error} onRetry={() => void credentials.refetch()} />
        )}
        {credentials.data !== undefined && made.length === 0 && <p className="muted">{t("key.made.none")}</p>}
        {made.length > 0 && <CredentialTree credentials={credentials.data ?? []} />}
      </Section>
      <Section title={t("key.events.title")} lead={t("key.events.lead")}>
        <KeyEvents name={name} />
        <p>
          <Link to="/audit" search={{ object: `ownedaccesskeys/${name}`, since: "2592000" }}>
            {t("key.events.changes")}
          </Link>
          {" · "}
          <Link to="/audit" search={{ key: name }}>
            {t("key.events.search")}
          </Link>
        </p>
        <Code label={t("key.events.audit")} text={`postern audit search --key ${name} --since 7d audit.log`} />
      </Section>
    </>
  );
}

function Expiry({ accessKey: { spec, status } }: { readonly accessKey: AccessKey }) {
  return (
    <>
      <Time at={status?.expirationTimestamp} otherwise={t("key.neverExpires")} />
      {spec?.ttlAfterLastActivity === true && (
        <span className="hint block">{t("key.fact.restarts", { duration: duration(spec.ttl ?? 0) })}</span>
      )}
    </>
  );
}

/** Everything good that goes back to the key, itself included. Asked for anew whenever the key changes. */
function useCredentials(name: string, accessKey: AccessKey | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["credentials", "key", name, accessKey?.metadata.resourceVersion],
    async queryFn({ signal }) {
      const { status } = (await keysOf(api).getSubresource(name, "credentials", { signal })) as {
        readonly status?: { readonly credentials?: readonly Credential[] };
      };
      return status?.credentials ?? [];
    },
    enabled: accessKey !== undefined,
    placeholderData: (before) => before,
    refetchInterval: 30_000,
  });
}

/** What the key was used for, and the narrowest scope for that. */
function Usage({ name, accessKey }: { readonly name: string; readonly accessKey: AccessKey }) {
  const api = useApi();
  const [isAsked, setAsked] = useState(false);
  const usage = useQuery({
    queryKey: ["usage", name, accessKey.metadata.resourceVersion],
    async queryFn({ signal }) {
      const body = { apiVersion: managementVersion, kind: "OwnedAccessKeyExplanation", metadata: {}, spec: {} };
      const { status } = (await keysOf(api).createSubresource(name, "explain", body, { signal })) as {
        readonly status?: Explanation;
      };
      return status ?? {};
    },
    placeholderData: (before) => before,
  });
  const narrow = useMutation({
    mutationFn: (scope: NonNullable<Explanation["leastScope"]>) => {
      const operation = { op: "add", path: "/spec/scope", value: scope };
      return keysOf(api).patch(name, { type: "json", operations: [operation] });
    },
  });
  const { leastScope, usedSince, beyondScopes = [], isUsageComplete } = usage.data ?? {};
  const hasUse = leastScope !== undefined && Object.keys(leastScope).length > 0;
  const summary = scopeSummary({ scope: leastScope ?? {} });
  const canNarrow = hasUse && beyondScopes.length === 0 && summary !== scopeSummary(accessKey.spec ?? {});
  return (
    <Section
      title={t("key.use.title")}
      lead={
        usedSince === undefined ? undefined : (
          <>
            {t("key.use.since")} <Time at={usedSince} otherwise="" />
          </>
        )
      }
    >
      {usage.isPending && <Loading />}
      {usage.error !== null && <ErrorNotice error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.data !== undefined && !hasUse && beyondScopes.length === 0 && <p className="muted">{t("key.use.none")}</p>}
      {hasUse && (
        <div className="card stack">
          <p>{t("key.use.least", { scope: summary })}</p>
          {isUsageComplete === false && <p className="hint">{t("key.use.incomplete")}</p>}
          {canNarrow && (
            <div>
              <Button onPress={() => setAsked(true)}>{t("key.use.narrow")}</Button>
            </div>
          )}
        </div>
      )}
      {beyondScopes.length > 0 && (
        <div className="card">
          <p>{counted("key.use.beyond", beyondScopes.length)}</p>
          <ul className="lines mono">
            {beyondScopes.map((use) => (
              <li key={use}>{use}</li>
            ))}
          </ul>
        </div>
      )}
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={t("key.narrow.title", { name })}
        action={t("key.use.narrow")}
        consequences={[t("key.narrow.only", { scope: summary }), t("key.narrow.made"), t("key.narrow.back")]}
        onConfirm={() => narrow.mutateAsync(leastScope ?? {})}
      >
        <ScopeList limits={{ scope: leastScope ?? {} }} />
      </Confirm>
    </Section>
  );
}
