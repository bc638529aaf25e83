// What can be ordered where and for how much; the data is in locations.ts, server-type-rows.ts and images.ts.
export { findImage, IMAGES } from "./images.ts";
export { findLocation, LOCATIONS } from "./locations.ts";
export { findServerType, SERVER_TYPES } from "./server-types.ts";
export { pricing } from "./pricing.ts";
