// The frame around every page: navigation, the signed-in user, and the state of the connection.

import type { AccessRequest } from "@postern/api/access-request";
import { Link, lazyRouteComponent, Outlet, useRouterState } from "@tanstack/react-router";
import {
  Box,
  CircleHelp,
  CircleUser,
  Contrast,
  FileKey,
  Fingerprint,
  FolderKanban,
  Hand,
  Handshake,
  History,
  House,
  Info,
  KeyRound,
  LogOut,
  Menu as MenuIcon,
  ScrollText,
  Search,
  Server,
  Siren,
  SquareTerminal,
  User,
  Users,
  WifiOff,
} from "lucide-react";
import { type ComponentType, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useApi } from "../api/api-context.tsx";
import { ACCESS_KEYS, ACCESS_REQUESTS } from "../api/resources.ts";
import { useLive, useLiveObject } from "../api/use-live.ts";
import { useMay, type Wish } from "../api/use-may.ts";
import { Button } from "../components/button.tsx";
import { DocsLink } from "../components/docs-link.tsx";
import { Time } from "../components/time.tsx";
import { useSession } from "../session/session-context.tsx";
import { settings } from "../settings.ts";
import { counted, type TextId, t } from "../texts/text.tsx";
import type { Entry } from "./palette/find-entries.ts";
import { isWaiting } from "./requests/request-state.ts";
import { nextTheme, useTheme } from "./theme.ts";

// Loaded when it is first opened.
const Palette = lazyRouteComponent(() => import("./palette/palette.tsx"), "Palette");

type Place = {
  readonly to: string;
  readonly label: TextId;
  readonly icon: ComponentType<{ readonly "aria-hidden": true }>;
  /** The page is empty without this permission, and therefore hidden. Absent: every user sees something there. */
  readonly needs?: Wish;
  /** A number beside the label. */
  readonly count?: ComponentType;
  /** The form of a new object, whose address is elsewhere. */
  readonly made?: string;
};

/** In the order of the navigation. */
const PLACES: readonly { readonly heading?: TextId; readonly places: readonly Place[] }[] = [
  {
    places: [
      { to: "/", label: "nav.overview", icon: House },
      { to: "/keys", made: "/new/key", label: "keys.title", icon: KeyRound },
      { to: "/clusters", made: "/new/virtual-cluster", label: "clusters.title", icon: Box },
      {
        to: "/kubeconfig-generators",
        made: "/new/kubeconfig-generator",
        label: "generators.title",
        icon: FileKey,
        needs: { verb: "list", resource: "kubeconfiggenerators" },
      },
      {
        to: "/host-clusters",
        made: "/new/host-cluster",
        label: "hosts.title",
        icon: Server,
        needs: { verb: "list", resource: "clusters" },
      },
    ],
  },
  {
    heading: "nav.heading.people",
    places: [
      { to: "/projects", made: "/new/project", label: "projects.title", icon: FolderKanban },
      { to: "/users", made: "/new/user", label: "users.title", icon: User },
      { to: "/teams", made: "/new/team", label: "teams.title", icon: Users },
      {
        to: "/roles",
        made: "/new/role",
        label: "roles.title",
        icon: ScrollText,
        needs: { verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterroles" },
      },
    ],
  },
  {
    heading: "nav.heading.security",
    places: [
      {
        to: "/access-requests",
        made: "/new/access-request",
        label: "requests.title",
        icon: Hand,
        count: WaitingRequests,
      },
      { to: "/access", label: "access.ask", icon: CircleHelp },
      {
        to: "/trust",
        made: "/new/trust-rule",
        label: "trust.title",
        icon: Handshake,
        needs: { verb: "list", resource: "trustrules" },
      },
      {
        to: "/identity-providers",
        made: "/new/identity-provider",
        label: "providers.title",
        icon: Fingerprint,
        needs: { verb: "list", resource: "identityproviders" },
      },
      { to: "/leak-reports", label: "leaks.title", icon: Siren },
      { to: "/audit", label: "audit.title", icon: History, needs: { verb: "get", path: "/audit/events" } },
      {
        to: "/recordings",
        label: "recordings.title",
        icon: SquareTerminal,
        needs: { verb: "get", path: "/sessionrecordings" },
      },
    ],
  },
  {
    heading: "nav.heading.server",
    places: [{ to: "/about", label: "about.title", icon: Info }],
  },
];

/** Pages that a user may not see say so themselves. */
const PAGES: readonly Entry[] = PLACES.flatMap(({ places }) =>
  places.map(({ to, label }) => ({ id: `page ${to}`, kind: "page", note: "", to, title: t(label) })),
);

export function Shell() {
  const { session } = useApi();
  // Watched on every page: the watch ends with the session, so that the page notices it at once.
  useLiveObject(ACCESS_KEYS, session.keyName);
  const [isOpen, setOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setFinding(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const typed = useRef("");
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    setOpen(false);
    // Screen readers continue with the new page.
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <div className={isOpen ? "shell open" : "shell"}>
      <a className="skip" href="#main">
        {t("nav.skip")}
      </a>
      <header className="topbar">
        <Button kind="quiet" aria-label={t("nav.menu")} aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
          <MenuIcon aria-hidden="true" />
        </Button>
        <Brand />
      </header>
      <nav className="sidebar" aria-label={t("nav.label")}>
        <Brand />
        <Button kind="plain" onPress={() => setFinding(true)}>
          <Search aria-hidden="true" />
          <span className="find-label">{t("palette.title")}</span>
          <kbd>{t("palette.keys")}</kbd>
        </Button>
        <div className="nav">
          {PLACES.map(({ heading, places }) => (
            <div key={heading ?? ""} className="nav-group">
              {heading !== undefined && <h2>{t(heading)}</h2>}
              <ul>
                {places.map((place) =>
                  place.needs === undefined ? (
                    <NavItem key={place.to} place={place} />
                  ) : (
                    <NavItemWithRight key={place.to} place={place} needs={place.needs} />
                  ),
                )}
              </ul>
            </div>
          ))}
        </div>
        <Person />
        <p className="corner">
          <DocsLink to="/docs">{t("help.all")}</DocsLink>
          <span className="muted">{t("about.corner", { version: settings.version, host: location.host })}</span>
        </p>
      </nav>
      {isFinding && (
        <Suspense fallback={<TypedAhead typed={typed} />}>
          <Palette pages={PAGES} typed={typed} onClose={() => setFinding(false)} />
        </Suspense>
      )}
      <main id="main" className="main" ref={main} tabIndex={-1}>
        <ConnectionNotice />
        <Outlet />
      </main>
    </div>
  );
}

/** Takes the text that a person types while the palette is being loaded. */
function TypedAhead({ typed }: { readonly typed: { current: string } }) {
  return (
    <input
      className="typed-ahead"
      aria-label={t("palette.title")}
      ref={(element) => element?.focus()}
      onChange={(event) => {
        typed.current = event.target.value;
      }}
    />
  );
}

function NavItem({ place: { to, made, label, icon: Icon, count: Count } }: { readonly place: Place }) {
  const isMade = useRouterState({ select: ({ location }) => location.pathname === made });
  return (
    <li>
      <Link
        to={to}
        className={isMade ? "nav-link active" : "nav-link"}
        activeOptions={{ exact: to === "/", includeSearch: false }}
        {...(isMade ? { "aria-current": "page" } : {})}
      >
        <Icon aria-hidden={true} />
        {t(label)}
        {Count !== undefined && <Count />}
      </Link>
    </li>
  );
}

/** Requests that the user can decide on. */
function WaitingRequests() {
  const { session } = useApi();
  const { items } = useLive<AccessRequest>(ACCESS_REQUESTS);
  const count = items.filter((request) => isWaiting(request, session.user)).length;
  if (count === 0) return null;
  return (
    <span className="nav-count" role="img" aria-label={counted("requests.waiting", count)}>
      {count}
    </span>
  );
}

function NavItemWithRight({ place, needs }: { readonly place: Place; readonly needs: Wish }) {
  const right = useMay(needs);
  return right.isAllowed ? <NavItem place={place} /> : null;
}

function Brand() {
  return (
    <Link to="/" className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M10 25V13a6 6 0 0 1 12 0v12M16 18v4" />
        <circle cx="16" cy="17" r="2.3" />
      </svg>
      Postern
    </Link>
  );
}

function Person() {
  const { session } = useApi();
  const { end } = useSession();
  const [theme, setTheme] = useTheme();
  return (
    <div className="person">
      <Link to="/profile" className="nav-link">
        <CircleUser aria-hidden="true" />
        <span className="person-name">
          {session.displayName}
          {session.displayName !== session.user && <span className="muted">{session.user}</span>}
        </span>
      </Link>
      <Button kind="quiet" aria-label={t(`theme.${theme}`)} onPress={() => setTheme(nextTheme(theme))}>
        <Contrast aria-hidden="true" />
      </Button>
      <Button kind="quiet" aria-label={t("session.signOut")} onPress={() => void end()}>
        <LogOut aria-hidden="true" />
      </Button>
    </div>
  );
}

function ConnectionNotice() {
  const { connection } = useApi();
  const { isReachable, since } = useSyncExternalStore(connection.subscribe, connection.state);
  return (
    <div className="connection" aria-live="polite">
      {!isReachable && (
        <p className="offline">
          <WifiOff aria-hidden="true" />
          <span>
            {t("connection.lost")} <Time at={new Date(since).toISOString()} otherwise="" />
          </span>
        </p>
      )}
    </div>
  );
}
