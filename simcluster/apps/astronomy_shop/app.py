"""What Astronomy Shop brings besides its files."""

from __future__ import annotations

from simcluster.apps.astronomy_shop.catalogue import (
    CartProgram,
    EnvoyProgram,
    FrontendProgram,
    LlmProgram,
    ProductCatalogProgram,
    ProductReviewsProgram,
)
from simcluster.apps.astronomy_shop.consumers import AccountingProgram, FraudProgram
from simcluster.apps.astronomy_shop.loadgenerator import LoadGeneratorProgram
from simcluster.apps.astronomy_shop.orders import (
    AdProgram,
    CheckoutProgram,
    EmailProgram,
    PaymentProgram,
    RecommendationProgram,
)
from simcluster.apps.astronomy_shop.requestfilter import RequestFilterProgram

PROGRAMS = {
    "shop-accounting": AccountingProgram,
    "shop-ad": AdProgram,
    "shop-cart": CartProgram,
    "shop-checkout": CheckoutProgram,
    "shop-email": EmailProgram,
    "shop-envoy": EnvoyProgram,
    "shop-fraud-detection": FraudProgram,
    "shop-frontend": FrontendProgram,
    "shop-llm": LlmProgram,
    "shop-load-generator": LoadGeneratorProgram,
    "shop-payment": PaymentProgram,
    "shop-product-catalog": ProductCatalogProgram,
    "shop-product-reviews": ProductReviewsProgram,
    "shop-recommendation": RecommendationProgram,
    "shop-request-filter": RequestFilterProgram,
}
