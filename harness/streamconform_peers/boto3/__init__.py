"""boto3, the AWS SDK for Python."""
