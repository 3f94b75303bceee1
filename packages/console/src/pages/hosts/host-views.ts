// The pages of host clusters, loaded together.

export { HostPage } from "./host-page.tsx";
export { HostsPage } from "./hosts-page.tsx";
