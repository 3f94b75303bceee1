// One trust rule: which tokens it takes, what it hands out for them, and a tester for a token.

import { createResourceClient } from "@postern/client/resource-client";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  ACCESS_KEYS,
  type AccessKey,
  CLUSTER_TRUST_RULES,
  inNamespace,
  nameOf,
  TRUST_RULES,
  type TrustRule,
} from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Confirm } from "../../components/confirm.tsx";
import { LongList } from "../../components/long-list.tsx";
import { ObjectActions } from "../../components/object-actions.tsx";
import { ListLink, ObjectPage } from "../../components/object-page.tsx";
import { Button, Facts, PageHead, Section, Time } from "../../components/ui.tsx";
import { WhyNot } from "../../components/why-not.tsx";
import { duration } from "../../format/ages.ts";
import { namespaceOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { KeyStateBadge } from "../keys/keys-page.tsx";
import { TestToken } from "./test-token.tsx";
import { issuerOf, NotReady, ReadyBadge, trustScope } from "./trust-page.tsx";

const LONGEST_SECONDS = 3_600;

/** In addresses of the console: a rule that is in no project. */
export const EVERYWHERE = "-";

export const addressIn = (project: string): typeof TRUST_RULES =>
  project === EVERYWHERE ? CLUSTER_TRUST_RULES : inNamespace(TRUST_RULES, namespaceOf(project));

export function TrustRulePage() {
  const { project = "", name = "" } = useParams({ strict: false });
  return (
    <ObjectPage<TrustRule> kind="trust" address={addressIn(project)} name={name}>
      {(rule) => <TrustRuleView rule={rule} project={project} />}
    </ObjectPage>
  );
}

function TrustRuleView({ rule, project }: { readonly rule: TrustRule; readonly project: string }) {
  const name = nameOf(rule);
  const isOfProject = project !== EVERYWHERE;
  const address = addressIn(project);
  const { spec = {}, status = {} } = rule;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <>
      <PageHead
        above={<ListLink kind="trust" />}
        title={spec.displayName || name}
        lead={spec.description}
        actions={
          <>
            <Switch rule={rule} address={address} />
            <ObjectActions
              kind="trust"
              address={address}
              object={rule}
              editedAt={`/trust/${project}/${name}/edit`}
              consequences={[t("trust.disable.exchange"), t("trust.disable.keys")]}
            />
          </>
        }
      />
      {ready?.status === "False" && spec.disabled !== true && <NotReady condition={ready} />}
      <div className="card">
        <Facts
          items={[
            [
              t("trust.fact.state"),
              <ReadyBadge key="state" isDisabled={spec.disabled === true} conditions={status.conditions} />,
            ],
            [t("trust.fact.name"), <code key="name">{name}</code>],
            [t("trust.fact.place"), isOfProject ? t("scope.project", { name: project }) : t("trust.everywhere")],
            [t("trust.fact.keysFetched"), <Time key="at" at={status.keysFetchedTime} otherwise={t("trust.never")} />],
          ]}
        />
      </div>
      <Section title={t("trust.accepts.title")} lead={t("trust.accepts.lead")}>
        <ul className="lines card">
          <li>
            <span>{t("trust.accepts.issuer")}</span>
            <span className="mono">{issuerOf(rule)}</span>
          </li>
          <li>
            <span>{t("trust.accepts.audience")}</span>
            <span className="mono">{spec.audiences?.join(", ")}</span>
          </li>
          {(spec.claims ?? []).map(({ claim, values }) => (
            <li key={claim}>
              <code>{claim}</code>
              <span className="mono">{values.join(", ")}</span>
            </li>
          ))}
          {(spec.conditions ?? []).map(({ expression, message }) => (
            <li key={expression}>
              <code>{expression}</code>
              <span className="muted">{message}</span>
            </li>
          ))}
          {spec.singleUse === true && <li>{t("trust.accepts.once")}</li>}
        </ul>
      </Section>
      <Section title={t("trust.gives.title")}>
        <div className="card">
          <Facts
            items={[
              [t("trust.gives.user"), spec.user ?? ""],
              [t("trust.gives.scope"), trustScope(rule)],
              [t("trust.gives.ttl"), duration(spec.ttl ?? LONGEST_SECONDS)],
            ]}
          />
        </div>
      </Section>
      <TestToken address={address} name={name} />
      <Issued rule={isOfProject ? `${namespaceOf(project)}/${name}` : name} />
    </>
  );
}

function Switch({ rule, address }: { readonly rule: TrustRule; readonly address: typeof TRUST_RULES }) {
  const { client } = useApi();
  const name = nameOf(rule);
  const { namespace } = rule.metadata;
  const right = useMay({
    verb: "update",
    resource: address.resource,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const [isAsked, setAsked] = useState(false);
  const isDisabled = rule.spec?.disabled === true;
  return (
    <>
      <Button isDisabled={!right.isAllowed} onPress={() => setAsked(true)}>
        {isDisabled ? t("key.enable") : t("key.disable")}
      </Button>
      <WhyNot right={right} />
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={isDisabled ? t("key.enable.title", { name }) : t("key.disable.title", { name })}
        action={isDisabled ? t("key.enable") : t("key.disable")}
        isDangerous={!isDisabled}
        consequences={isDisabled ? [t("trust.enable.again")] : [t("trust.disable.exchange"), t("trust.disable.keys")]}
        onConfirm={() =>
          createResourceClient<TrustRule>(client, address).patch(name, {
            type: "merge",
            patch: { spec: { disabled: isDisabled ? null : true } },
          })
        }
      />
    </>
  );
}

function Issued({ rule }: { readonly rule: string }) {
  const { items } = useLive<AccessKey>(ACCESS_KEYS);
  const issued = items.filter(({ status }) => status?.issuedBy?.rule === rule);
  return (
    <Section title={t("trust.issued.title")} lead={t("trust.issued.lead")}>
      {issued.length === 0 && <p className="muted">{t("trust.issued.none")}</p>}
      {issued.length > 0 && (
        <LongList items={issued}>
          {(key) => (
            <li key={key.metadata.uid}>
              <span className="two-lines">
                <Link to="/keys/$name" params={{ name: nameOf(key) }}>
                  {nameOf(key)}
                </Link>
                <span className="muted mono">{key.status?.issuedBy?.subject}</span>
              </span>
              <KeyStateBadge accessKey={key} />
            </li>
          )}
        </LongList>
      )}
    </Section>
  );
}
