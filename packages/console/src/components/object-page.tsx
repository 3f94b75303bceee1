// The page of one object, with its loading, error and not-found states.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLiveObject } from "../api/use-live.ts";
import { projectOf } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { Loading } from "./loading.tsx";
import { ErrorNotice } from "./notice.tsx";
import { PageHead } from "./page-head.tsx";

/** The address of each kind's list, and its title. The kind is also the prefix of its texts. */
export const LISTS = {
  key: { to: "/keys", title: "keys.title" },
  cluster: { to: "/clusters", title: "clusters.title" },
  host: { to: "/host-clusters", title: "hosts.title" },
  generator: { to: "/kubeconfig-generators", title: "generators.title" },
  project: { to: "/projects", title: "projects.title" },
  user: { to: "/users", title: "users.title" },
  team: { to: "/teams", title: "teams.title" },
  role: { to: "/roles", title: "roles.title" },
  trust: { to: "/trust", title: "trust.title" },
  provider: { to: "/identity-providers", title: "providers.title" },
  request: { to: "/access-requests", title: "requests.title" },
} as const;

export type PageKind = keyof typeof LISTS;

export function ListLink({ kind }: { readonly kind: PageKind }) {
  const { to, title } = LISTS[kind];
  return <Link to={to}>{t(title)}</Link>;
}

/** The heading of an object's page. `within`: the project, where objects of several have the same name. */
export function ObjectHead(props: {
  readonly kind: PageKind;
  readonly object: Titled;
  readonly actions: ReactNode;
  readonly within?: string;
}) {
  const { kind, object, actions, within } = props;
  const { metadata, spec } = object;
  return (
    <PageHead
      above={<ListLink kind={kind} />}
      title={[within, spec?.displayName || metadata.name || ""].filter((part) => part !== undefined).join(" / ")}
      lead={spec?.description}
      actions={actions}
    />
  );
}

/** A name as titles have it: after its project, where objects of several projects have the same name. */
export const titleIn = ({ namespace }: Pick<ResourceAddress, "namespace">, name: string): string =>
  namespace === undefined ? name : `${projectOf(namespace)} / ${name}`;

type Titled = {
  readonly metadata: { readonly name?: string };
  readonly spec?: { readonly displayName?: string; readonly description?: string };
};

/** Access to what the user cannot see can be asked for. */
function AskFor({ address, name }: { readonly address: ResourceAddress; readonly name: string }) {
  const asked = placeToAskFor(address, name);
  if (asked === undefined) return null;
  return (
    <Link to="/new/access-request" search={asked} className="button plain">
      {t("request.new")}
    </Link>
  );
}

function placeToAskFor({ resource, namespace = "" }: ResourceAddress, name: string): Search | undefined {
  if (resource === "virtualclusterinstances") return { project: projectOf(namespace), virtualCluster: name };
  if (resource === "projects") return { project: name };
  return resource === "clusters" ? { cluster: name } : undefined;
}

type Search = { readonly [name: string]: string };

export function ObjectPage<T extends KubeObject>(props: {
  readonly kind: PageKind;
  readonly address: ResourceAddress;
  readonly name: string;
  /** Called once the object is loaded, and after each change. */
  readonly children: (object: T) => ReactNode;
}) {
  const { kind, address, name, children } = props;
  const { object, isLoading, error, retry } = useLiveObject<T>(address, name);
  if (isLoading) return <Loading />;
  if (error !== null)
    return (
      <>
        <PageHead above={<ListLink kind={kind} />} title={name} />
        <ErrorNotice error={error} onRetry={retry} />
      </>
    );
  if (object === undefined)
    return (
      <PageHead
        above={<ListLink kind={kind} />}
        title={t(`${kind}.gone.title`)}
        lead={t("object.gone", { name })}
        actions={<AskFor address={address} name={name} />}
      />
    );
  return children(object);
}

/** The page of the object that its address names. `addressIn`: where objects of the kind are, by the project in the address of the page. */
export const objectPage = <T extends KubeObject>(
  kind: PageKind,
  addressIn: (project: string) => ResourceAddress,
  view: (object: T, project: string) => ReactNode,
) =>
  // biome-ignore lint/correctness/noComponentHookFactories: it is called once for each page, outside of components
  function Page() {
    const { project = "", name = "" } = useParams({ strict: false });
    return (
      <ObjectPage<T> kind={kind} address={addressIn(project)} name={name}>
        {(object) => view(object, project)}
      </ObjectPage>
    );
  };
